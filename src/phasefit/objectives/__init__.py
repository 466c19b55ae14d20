"""Objectives: pure losses. Each is a frozen dataclass that turns embeddings and targets into one scalar.

An objective holds no model and never sees text; it may import torch and nothing from phasefit (only this file imports
the registry). Its `inputs` list what it accepts: `labelled` (embeddings and targets of one batch; every pair in it
counts), `pairs` (two sides and their agreement), `views` (rows that belong together, optionally with a hard negative
each), `tokens` (the states before pooling). To add one, add a file here, a line below and a reference value in its
test.
"""

from phasefit.objectives.agreement import agreement, pair_agreement
from phasefit.objectives.contract import NothingToLearn, Objective, class_codes, full_precision
from phasefit.objectives.contrastive import Contrastive
from phasefit.objectives.cosine import Cosine
from phasefit.objectives.head_losses import CrossEntropy
from phasefit.objectives.info_nce import InfoNCE, MultipleNegatives
from phasefit.objectives.label_aware import LabelAware
from phasefit.objectives.nt_xent import NTXent
from phasefit.objectives.proxy_nca import ProxyNCA
from phasefit.objectives.soft_triple import SoftTriple
from phasefit.objectives.supcon import SupCon
from phasefit.objectives.triplet import Triplet
from phasefit.registry import Registry

OBJECTIVES: Registry[type[Objective]] = Registry(
    "objective",
    "phasefit.objectives",
    base=Objective,
    entries={
        "cosine": Cosine,
        "contrastive": Contrastive,
        "triplet": Triplet,
        "proxy-nca": ProxyNCA,
        "soft-triple": SoftTriple,
        "supcon": SupCon,
        "label-aware": LabelAware,
        "info-nce": InfoNCE,
        "multiple-negatives": MultipleNegatives,
        "nt-xent": NTXent,
    },
)

__all__ = [
    "OBJECTIVES",
    "Contrastive",
    "Cosine",
    "CrossEntropy",
    "InfoNCE",
    "LabelAware",
    "MultipleNegatives",
    "NTXent",
    "NothingToLearn",
    "Objective",
    "ProxyNCA",
    "SoftTriple",
    "SupCon",
    "Triplet",
    "agreement",
    "class_codes",
    "full_precision",
    "pair_agreement",
]
