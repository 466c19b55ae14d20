"""Exported folders: one graph from token ids to calibrated outputs, checked against torch before it is written.

`graph` joins encoder, heads and calibration in one torch module, `onnx_library` and `openvino_library` write and
quantise it, `check_rows` reads the rows that it is checked on, `checks` and `speed` compare it with torch, `folder`
writes the files, and `run_export` does all of this. The runtime runs the result, also during the checks.

May import everything but estimators, cli and serve; torch and the libraries of the extras only inside functions.
"""
