"""Training, prediction and scores on a Dask cluster, by iterative parameter mixing."""

from perceptrons.distributed.clients import ClusterError, ClusterWarning
from perceptrons.distributed.cluster_fit import fit
from perceptrons.distributed.mixing_theorem import MixingBound, mixing_bound
from perceptrons.distributed.prediction import decision_function, predict, score

__all__ = [
    "ClusterError",
    "ClusterWarning",
    "MixingBound",
    "decision_function",
    "fit",
    "mixing_bound",
    "predict",
    "score",
]
