"""Files of a run or model folder: atomic writes, the manifest `phasefit.json`, and the folder lock.

Any package may import this one; it may import only `errors`, and no torch.
"""
