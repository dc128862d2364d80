"""Writes the nodes and constants of ONNX graphs: of a whole model, or into a graph that skl2onnx converts."""

from typing import Any

import numpy as np

OPSET, ML_OPSET, IR = 17, 3, 8
OPSETS = {"": OPSET, "ai.onnx.ml": ML_OPSET}
TENSOR_TYPES = {"double": np.float64, "float": np.float32, "int64": np.int64, "string": object, "bool": np.bool_}


def required_package(name: str) -> Any:
    """Import `onnx` or `skl2onnx`, or raise an error that says how to install it."""
    try:
        if name == "onnx":
            import onnx

            return onnx
        import skl2onnx
    except ModuleNotFoundError as error:
        if error.name != name:
            raise  # a package that it needs itself
        message = f'Exporting to ONNX needs the package {name}: pip install "perceptrons[onnx]".'
        raise ModuleNotFoundError(message, name=name) from error
    return skl2onnx


def class_type(classes: np.ndarray) -> str:
    """Return the tensor type of labels."""
    kind = np.array(classes.tolist()).dtype.kind
    return {"U": "string", "b": "bool", "i": "int64", "u": "int64"}.get(kind, "double")


class Nodes:
    """Nodes and constants. A value is the name of a tensor. Numbers are double."""

    def __init__(self) -> None:
        onnx = required_package("onnx")
        self.INT64, self.DOUBLE, self.FLOAT = onnx.TensorProto.INT64, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT
        self._helper, self._numpy_helper = onnx.helper, onnx.numpy_helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, array: np.ndarray) -> str:
        """Add a constant and return its name."""
        name = self._name(f"constant{len(self.constants)}")
        array = array.astype(object) if array.dtype.kind == "U" else np.ascontiguousarray(array)
        self.constants.append(self._numpy_helper.from_array(array, name))
        return name

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node with one output and return the name of the output."""
        name = self._name(f"{operator}{len(self.nodes)}")
        self.nodes.append(self._helper.make_node(operator, list(inputs), [name], domain=domain, **attributes))
        return name

    def assign(self, value: str, name: str) -> None:
        """Give a value another name, such as that of an output."""
        self.nodes.append(self._helper.make_node("Identity", [value], [name]))

    def _name(self, name: str) -> str:
        return f"perceptrons/{name}"

    # ---- constants of a type

    def double(self, array: Any) -> str:
        return self.constant(np.asarray(array, np.float64))

    def int64(self, array: Any) -> str:
        return self.constant(np.asarray(array, np.int64))

    def matrix(self, array: np.ndarray) -> str:
        """Add a constant that may be large: float32 stays float32 in the file, and becomes double when it is used."""
        if array.dtype != np.float32:
            return self.double(array)
        return self.add("Cast", self.constant(array), to=self.DOUBLE)

    def labels(self, classes: np.ndarray) -> str:
        return self.constant(np.array(classes.tolist()).astype(TENSOR_TYPES[class_type(classes)]))

    # ---- common groups of nodes

    def concat(self, parts: list[str], axis: int) -> str:
        return parts[0] if len(parts) == 1 else self.add("Concat", *parts, axis=axis)

    def unsqueeze(self, value: str, axis: int) -> str:
        return self.add("Unsqueeze", value, self.int64([axis]))

    def sum(self, value: str, axis: int, keep: bool = True) -> str:
        return self.add("ReduceSum", value, self.int64([axis]), keepdims=int(keep))

    def column(self, X: str, number: int) -> str:
        return self.add("Gather", X, self.int64([number]), axis=1)

    def norm(self, X: str) -> str:
        """Return the lengths of rows, and 1 for rows of zeros."""
        norm = self.add("Sqrt", self.sum(self.add("Mul", X, X), -1))
        return self.add("Where", self.add("Greater", norm, self.double(0.0)), norm, self.double(1.0))

    def linear(self, X: str, w: np.ndarray, b: np.ndarray) -> str:
        """X w' + b"""
        return self.add("Add", self.add("MatMul", X, self.matrix(np.ascontiguousarray(w.T))), self.double(b))

    def power(self, value: str, degree: int) -> str:
        """Multiply by squaring, as the library does: the same bits."""
        if degree == 1:
            return value
        square = self.power(self.add("Mul", value, value), degree // 2)
        return self.add("Mul", square, value) if degree % 2 else square

    def sparse_product(self, columns: str, values: str, weights: np.ndarray) -> str:
        """Multiply sparse rows, given as (rows, places) columns and values, by weights (columns, outputs).

        Columns whose weights are all 0 are not in the file.
        """
        used = np.flatnonzero((weights != 0).any(axis=1))
        if len(used) < len(weights) // 2:
            places = np.zeros(len(weights), np.int32)
            places[used] = np.arange(1, len(used) + 1)
            columns = self.add("Gather", self.constant(places), columns, axis=0)
            weights = np.concatenate([np.zeros((1, weights.shape[1]), weights.dtype), weights[used]])
        rows = self.add("Gather", self.matrix(weights), columns, axis=0)
        return self.sum(self.add("Mul", rows, self.unsqueeze(values, 2)), 1, keep=False)


class Graph(Nodes):
    """A whole ONNX graph. dtype: "float64" or "float32", the type of inputs that are numbers."""

    def __init__(self, dtype: str = "float64") -> None:
        super().__init__()
        self._numbers = {"float64": "double", "float32": "float"}[dtype]
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, tuple[str, str, list[int | None]]] = {}

    def number_input(self, name: str, shape: list[int | None]) -> str:
        value = self.input(name, self._numbers, shape)
        return self.add("Cast", value, to=self.DOUBLE) if self._numbers == "float" else value

    def input(self, name: str, tensor_type: str, shape: list[int | None]) -> str:
        self._inputs[name] = self._declared(name, tensor_type, shape)
        return name

    def output(self, name: str, value: str, tensor_type: str, shape: list[int | None]) -> None:
        """Declare an output. Its name ends with an underscore if an input has the same name."""
        self._outputs[name] = value, tensor_type, shape

    def _declared(self, name: str, tensor_type: str, shape: list[int | None]) -> Any:
        code = self._helper.np_dtype_to_tensor_dtype(np.dtype(TENSOR_TYPES[tensor_type]))
        sizes = [size if size is not None else f"places{axis}" if axis else "rows" for axis, size in enumerate(shape)]
        return self._helper.make_tensor_value_info(name, code, sizes)

    def model(self, metadata: dict[str, str]) -> Any:
        """Return the whole model, checked."""
        outputs = []
        for name, (value, tensor_type, shape) in self._outputs.items():
            while name in self._inputs:
                name += "_"
            self.assign(value, name)
            outputs.append(self._declared(name, tensor_type, shape))
        graph = self._helper.make_graph(self.nodes, "perceptrons", list(self._inputs.values()), outputs, self.constants)
        opsets = [self._helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
        model = self._helper.make_model(graph, opset_imports=opsets, producer_name="perceptrons", ir_version=IR)
        self._helper.set_model_props(model, metadata)
        required_package("onnx").checker.check_model(model)
        return model


class ContainerNodes(Nodes):
    """Nodes for a graph that skl2onnx converts."""

    def __init__(self, scope: Any, container: Any) -> None:
        super().__init__()
        self._scope, self._container = scope, container

    def _name(self, name: str) -> str:
        return str(self._scope.get_unique_variable_name(f"perceptrons/{name}"))

    def move_to_container(self) -> None:
        """Hand all nodes and constants over to skl2onnx."""
        for tensor in self.constants:
            content = list(tensor.string_data) or tensor  # skl2onnx copies the numbers of a tensor, but no strings
            self._container.add_initializer(tensor.name, tensor.data_type, list(tensor.dims), content)
        for node in self.nodes:
            attributes = {one.name: self._helper.get_attribute_value(one) for one in node.attribute}
            self._container.add_node(
                node.op_type, list(node.input), list(node.output), op_domain=node.domain,
                op_version=OPSETS[node.domain], name=self._scope.get_unique_operator_name(node.op_type), **attributes,
            )  # fmt: skip
