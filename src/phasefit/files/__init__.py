"""Files of a run or model folder: atomic writes, the manifest `phasefit.json`, and the lock of a folder.

Everyone may use it; it may import `errors` only. It imports no torch.
"""
