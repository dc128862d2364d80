"""Nodes and constants of an ONNX graph, named as they come."""

from types import ModuleType
from typing import Any

import numpy as np

OPSET, ML_OPSET, IR = 17, 3, 8
TYPES = {"double": np.float64, "int64": np.int64, "string": object, "bool": np.bool_}


def onnx_package() -> ModuleType:
    """The package `onnx`, or an error that says how to get it."""
    try:
        import onnx
    except ModuleNotFoundError as error:
        message = 'Exporting to ONNX needs the package onnx: pip install "perceptrons[onnx]".'
        raise ModuleNotFoundError(message, name="onnx") from error
    return onnx


class Graph:
    """An ONNX graph in the making. Values are the names of tensors."""

    def __init__(self) -> None:
        self.onnx = onnx_package()
        self._helper = self.onnx.helper
        self.INT64, self.DOUBLE = self.onnx.TensorProto.INT64, self.onnx.TensorProto.DOUBLE
        self.STRING, self.BOOL = self.onnx.TensorProto.STRING, self.onnx.TensorProto.BOOL
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[tuple[str, str, str, list[int | None]]] = []
        self._names: set[str] = set()

    # ---- constants

    def constant(self, array: np.ndarray) -> str:
        name = f"perceptrons/constant{len(self._constants)}"
        if array.dtype.kind in "UO":
            strings = [str(one).encode() for one in array.ravel().tolist()]
            tensor = self._helper.make_tensor(name, self.STRING, array.shape, strings)
        else:
            tensor = self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name)
        self._constants.append(tensor)
        return name

    def double(self, array: Any) -> str:
        return self.constant(np.asarray(array, np.float64))

    def int64(self, array: Any) -> str:
        return self.constant(np.asarray(array, np.int64))

    def number(self, value: float) -> str:
        return self.double(np.array(value))

    def matrix(self, array: np.ndarray) -> str:
        """A constant that may be large: float32 stays float32 in the file, and becomes double when it is used."""
        if array.dtype != np.float32:
            return self.double(array)
        return self.add("Cast", self.constant(array), to=self.DOUBLE)

    def class_type(self, classes: np.ndarray) -> str:
        kind = np.array(classes.tolist()).dtype.kind
        return {"U": "string", "b": "bool", "i": "int64", "u": "int64"}.get(kind, "double")

    def classes(self, classes: np.ndarray) -> list[str]:
        """The names of the classes, in a list."""
        return [self.constant(np.array(classes.tolist()).astype(TYPES[self.class_type(classes)]))]

    # ---- nodes

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """One node with one output, whose name is returned."""
        name = f"perceptrons/{operator}{len(self._nodes)}"
        self._nodes.append(self._helper.make_node(operator, list(inputs), [name], domain=domain, **attributes))
        return name

    def joined(self, parts: list[str], axis: int) -> str:
        return parts[0] if len(parts) == 1 else self.add("Concat", *parts, axis=axis)

    def unsqueezed(self, value: str, axis: int) -> str:
        return self.add("Unsqueeze", value, self.int64(np.array([axis])))

    def reduced(self, operator: str, value: str, axis: int, keep: bool = True) -> str:
        return self.add(operator, value, self.int64(np.array([axis])), keepdims=int(keep))

    def linear(self, X: str, w: np.ndarray, b: np.ndarray) -> str:
        """X w' + b"""
        return self.add("Add", self.add("MatMul", X, self.matrix(np.ascontiguousarray(w.T))), self.double(b))

    def power(self, value: str, degree: int) -> str:
        """By squaring, as the library does: the same bits."""
        if degree == 1:
            return value
        square = self.power(self.add("Mul", value, value), degree // 2)
        return self.add("Mul", square, value) if degree % 2 else square

    def gathered(self, columns: str, values: str, tall: np.ndarray) -> str:
        """Of rows given as (rows, places) columns and values: the sum of values times rows of `tall` (columns, k).

        Columns whose weights are all 0 are not in the file.
        """
        used = np.flatnonzero((tall != 0).any(axis=1))
        if len(used) < len(tall) // 2:
            place = np.zeros(len(tall), np.int32)
            place[used] = np.arange(1, len(used) + 1)
            columns = self.add("Gather", self.constant(place), columns, axis=0)
            tall = np.concatenate([np.zeros((1, tall.shape[1]), tall.dtype), tall[used]])
        rows = self.add("Gather", self.matrix(tall), columns, axis=0)
        return self.reduced("ReduceSum", self.add("Mul", rows, self.unsqueezed(values, 2)), 1, keep=False)

    # ---- doors

    def _value(self, name: str, kind: str, shape: list[int | None]) -> Any:
        codes = {"double": self.DOUBLE, "int64": self.INT64, "string": self.STRING, "bool": self.BOOL}
        named = ["rows" if size is None and not place else size for place, size in enumerate(shape)]
        named = [f"places{place}" if size is None else size for place, size in enumerate(named)]
        return self._helper.make_tensor_value_info(name, codes[kind], named)

    def input(self, name: str, kind: str, shape: list[int | None]) -> str:
        self._inputs.append(self._value(name, kind, shape))
        self._names.add(name)
        return name

    def output(self, name: str, value: str, kind: str, shape: list[int | None]) -> None:
        """An output; its name gets a line behind it where an input is called so."""
        self._outputs.append((name, value, kind, shape))

    def model(self, metadata: dict[str, str]) -> Any:
        """The whole model, checked."""
        outputs = []
        for name, value, kind, shape in self._outputs:
            while name in self._names:
                name += "_"
            self._nodes.append(self._helper.make_node("Identity", [value], [name]))
            outputs.append(self._value(name, kind, shape))
        graph = self._helper.make_graph(self._nodes, "perceptrons", self._inputs, outputs, self._constants)
        opsets = [self._helper.make_opsetid("", OPSET), self._helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        model = self._helper.make_model(graph, opset_imports=opsets, producer_name="perceptrons", ir_version=IR)
        for key, text in metadata.items():
            model.metadata_props.add(key=key, value=text)
        self.onnx.checker.check_model(model)
        return model
