"""The usual pipelines and estimators around ours are saved and loaded, and predict the same."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA, FactorAnalysis, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, VarianceThreshold, chi2
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    StratifiedKFold,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

from perceptrons import KernelPerceptron, Perceptron
from tests.modelfile.pipelines import KINDS, NUMBERS, TWO, WORDS, X, Y, again, quietly

TABLE = NUMBERS.assign(kind=KINDS)
LABELS = np.stack([TWO == "yes", Y == "low"], axis=1)


def model(**how):
    return Perceptron(max_iter=2, **how)


def after(*steps):
    return make_pipeline(*steps, model())


def bins():
    """scikit-learn 1.7 warns without the parameter, and older versions do not have it."""
    how = {"quantile_method": "averaged_inverted_cdf"}
    return KBinsDiscretizer(3, **(how if "quantile_method" in KBinsDiscretizer().get_params() else {}))


USUAL = {
    "polynomial": (after(StandardScaler(), PolynomialFeatures(2)), X, Y),
    "pca": (after(StandardScaler(), PCA(2)), X, Y),
    "robust": (after(RobustScaler()), X, Y),
    "power": (after(PowerTransformer()), X, Y),
    "quantiles": (after(QuantileTransformer(n_quantiles=10)), X, Y),
    "bins": (after(bins()), X, Y),
    "function": (after(FunctionTransformer(np.cbrt), MinMaxScaler()), X, Y),
    "union": (after(make_union(PCA(1), StandardScaler())), X, Y),
    "factors": (after(FactorAnalysis(2)), X, Y),
    "lda": (after(LinearDiscriminantAnalysis()), X, Y),
    "nystroem": (after(Nystroem(n_components=9, random_state=0)), X, Y),
    "random features": (after(RBFSampler(random_state=0)), X, Y),
    "sparse projection": (after(SparseRandomProjection(2, random_state=0), VarianceThreshold()), X, Y),
    "gaussian projection": (after(GaussianRandomProjection(2, random_state=0)), X, Y),
    "best features": (after(SelectKBest(k=2)), X, Y),
    "features of a model": (after(SelectFromModel(model())), X, Y),
    "eliminated features": (after(RFE(model(), n_features_to_select=2)), X, Y),
    "kernel": (make_pipeline(StandardScaler(), KernelPerceptron(max_iter=2)), X, Y),
    "tfidf": (after(TfidfVectorizer(ngram_range=(1, 2)), SelectKBest(chi2, k=5)), WORDS, Y),
    "counts": (after(CountVectorizer(stop_words="english"), TfidfTransformer()), WORDS, Y),
    "hashed words": (after(HashingVectorizer(n_features=64)), WORDS, Y),
    "latent semantics": (after(TfidfVectorizer(), TruncatedSVD(2, random_state=0)), WORDS, Y),
    "columns": (after(make_column_transformer((SimpleImputer(), ["a", "b"]), (OneHotEncoder(), ["kind"]))), TABLE, Y),
    "selected columns": (
        after(ColumnTransformer([("numbers", StandardScaler(), make_column_selector(dtype_include=float))])), TABLE, Y),
    "target": (after(make_column_transformer((TargetEncoder(random_state=0), ["kind"]))), TABLE, Y),
    "frames": (after(StandardScaler()).set_output(transform="pandas"), NUMBERS, Y),
    "calibrated": (CalibratedClassifierCV(model(), cv=2), X, Y),
    "isotonic": (make_pipeline(StandardScaler(), CalibratedClassifierCV(model(), method="isotonic", cv=2)), X, Y),
    "bagging": (BaggingClassifier(model(), n_estimators=3, random_state=0), X, Y),
    "votes": (VotingClassifier([("a", model()), ("b", model(step="pa"))]), X, Y),
    "stacking": (StackingClassifier([("a", model())], final_estimator=LogisticRegression(), cv=2), X, Y),
    "boosting": (AdaBoostClassifier(model(), n_estimators=3, random_state=0), X, Y),
    "one-vs-rest": (OneVsRestClassifier(model()), X, Y),
    "one-vs-one": (OneVsOneClassifier(model()), X, Y),
    "threshold": (FixedThresholdClassifier(model(), threshold=0.1, pos_label="yes"), X, TWO),
    "grid": (GridSearchCV(model(), {"margin": [0, 1]}, cv=StratifiedKFold(2), scoring="accuracy"), X, Y),
    "random search": (
        RandomizedSearchCV(after(StandardScaler()), {"perceptron__eta0": [1, 2]}, n_iter=2, cv=2, random_state=0,
                           scoring=make_scorer(f1_score, average="macro")), X, Y),
    "several outputs": (MultiOutputClassifier(model()), X, LABELS),
    "chain": (ClassifierChain(model()), X, LABELS),
}  # fmt: skip


@pytest.mark.parametrize("name", USUAL)
def test_usual_pipelines_are_saved(name, tmp_path):
    fitted, data, labels = USUAL[name]
    quietly(fitted.fit, data, labels)
    loaded = again(fitted, tmp_path / "pipeline.perceptron")
    np.testing.assert_array_equal(loaded.predict(data), fitted.predict(data))
    if hasattr(fitted, "predict_proba"):
        np.testing.assert_array_equal(loaded.predict_proba(data), fitted.predict_proba(data))
