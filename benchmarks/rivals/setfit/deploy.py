"""Train and save SetFit, and export it as ONNX, for `benchmarks/deploy.py`; run by its own environment.

    deploy.py train TRAIN.csv FOLDER ENCODER CLASSES.json
    deploy.py export FOLDER

The export also needs onnx, onnxruntime, skl2onnx and onnxconverter-common, which SetFit does not install by itself.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from fit import BUDGETS

OPSET = 17


def train(table: str, folder: str, encoder: str, classes: str) -> None:
    """Train with the default budget; the names of the classes are written last."""
    from contest import read_rows
    from datasets import Dataset
    from setfit import SetFitModel, Trainer, TrainingArguments

    texts, labels = read_rows(Path(table))
    names = sorted(set(labels))
    model = SetFitModel.from_pretrained(encoder, device="cpu")
    with tempfile.TemporaryDirectory() as work:
        arguments = TrainingArguments(
            **BUDGETS["default"],
            output_dir=work,
            seed=0,
            report_to="none",
            save_strategy="no",
            logging_strategy="no",
            logging_first_step=False,
            show_progress_bar=False,
        )
        rows = Dataset.from_dict({"text": texts, "label": [names.index(label) for label in labels]})
        Trainer(model=model, args=arguments, train_dataset=rows).train()
    model.save_pretrained(folder)
    Path(classes).write_text(json.dumps(names), encoding="utf-8")


def export(folder: str) -> None:
    """SetFit's own exporter; a file that was written by halves is deleted."""
    from setfit import SetFitModel
    from setfit.exporters.onnx import export_onnx

    model, target = SetFitModel.from_pretrained(folder, device="cpu"), Path(folder) / "model.onnx"
    try:
        export_onnx(model.model_body, model.model_head, opset=OPSET, output_path=str(target))
    except BaseException:
        target.unlink(missing_ok=True)
        raise


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[2]))
    {"train": train, "export": export}[sys.argv[1]](*sys.argv[2:])
