"""Names of TVM that are not Relay: they import, and refuse when they are used.

`install()` makes the modules of `_MODULES` and everything below them importable.
Each name found in one is a `Refused` class: it may be imported, named in an
annotation or in `isinstance`, and decorate a definition. A call raises
`NotImplementedError` with one sentence that says what to do instead.

A package with a real part ends with `__getattr__ = module_getattr(__name__)`: the
names that it does not define are refused, those that only Python asks for are
missing.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from typing import Any, Callable, Dict, Optional, Sequence

__all__ = ["Refused", "advice", "check_attribute", "install", "module_getattr", "refuse"]

_TUNING = "relayc tunes nothing: kernels are chosen while it compiles; call relay.build alone"
_KERNELS = (
    "relayc writes its kernels itself: express the computation with Relay operators, "
    "and see how it runs with `relayc profile`"
)
_TIR = "relayc has no TIR: express the computation with Relay operators"
_REMOTE = "relayc runs on this machine: build there, or copy what export_library wrote"
_MICRO = "relayc compiles for x86-64 processors with an operating system"
_ONNX = "export the model to ONNX and import that with relay.frontend.from_onnx"
_DARKNET = "import its files with `relayc import net.cfg --weights net.weights`"
_EXPORT = "export_library writes shared objects itself, for x86-64, and calls no compiler"
_PLAN = "relayc plans memory with the code that uses it: `relayc run --emit plan` shows the plan"
_PROFILE = "`relayc profile` and debug_executor.GraphModuleDebug show the time of each group of operators"
_CPU = "relayc compiles for CPUs: build with the target `llvm`"
_GRADIENTS = "relay.transform.gradient knows the gradients of relayc's operators: write other functions with those"
_BYOC = "relayc calls no compiler of others: pass the functions that PartitionGraph makes to yours, or inline them"

#: Module path below `relayc.tvm` to the sentence that its names raise. A module
#: below one of these has its parent's sentence.
_MODULES: Dict[str, str] = {
    "arith": _TIR,
    "auto_scheduler": _TUNING,
    "autotvm": _TUNING,
    "contrib.cblas": _KERNELS,
    "contrib.cc": _EXPORT,
    "contrib.clang": _TIR,
    "contrib.coreml_runtime": "import the model with relay.frontend.from_onnx",
    "contrib.cublas": _CPU,
    "contrib.cublaslt": _CPU,
    "contrib.cuda_graph": _CPU,
    "contrib.cudnn": _CPU,
    "contrib.cutlass": _CPU,
    "contrib.dlpack": "pass tensors of torch by DLPack: tvm.nd.from_dlpack(tensor)",
    "contrib.dnnl": _KERNELS,
    "contrib.emcc": _REMOTE,
    "contrib.ethosu": _CPU,
    "contrib.hexagon": _CPU,
    "contrib.micro": _MICRO,
    "contrib.miopen": _CPU,
    "contrib.mkl": _KERNELS,
    "contrib.mps": _CPU,
    "contrib.mrvl": _CPU,
    "contrib.mxnet": "import the network with relay.frontend.from_mxnet",
    "contrib.ndk": _REMOTE,
    "contrib.nnpack": _KERNELS,
    "contrib.nvcc": _CPU,
    "contrib.peak": "`relayc profile` says what of the machine's peak each kernel reaches",
    "contrib.pickle_memoize": "keep what a function returns with functools.lru_cache",
    "contrib.pipeline_executor": "run one executor per stage from threads of your own",
    "contrib.pipeline_executor_build": "run one executor per stage from threads of your own",
    "contrib.popen_pool": "run functions in other processes with concurrent.futures",
    "contrib.random": "random numbers are the operators of relay.random",
    "contrib.rocblas": _CPU,
    "contrib.rocm": _CPU,
    "contrib.rpc": _REMOTE,
    "contrib.sdaccel": _CPU,
    "contrib.sparse": "sparse weights are operands of relay.nn.sparse_dense",
    "contrib.spirv": _CPU,
    "contrib.stackvm": _TIR,
    "contrib.tar": _EXPORT,
    "contrib.target": "write the program with `relayc export`",
    "contrib.tedd": _KERNELS,
    "contrib.tf_op": _ONNX,
    "contrib.tflite_runtime": _ONNX,
    "contrib.thrust": _CPU,
    "contrib.torch": "pass tensors of torch by DLPack: tvm.nd.from_dlpack(tensor)",
    "contrib.xcode": _CPU,
    "driver": "use the command line of relayc: `relayc run`, `relayc build`, `relayc bench`",
    "generic": _KERNELS,
    "ir.memory_pools": _MICRO,
    "meta_schedule": _TUNING,
    "micro": _MICRO,
    "relay.analysis.operations_distribution": "count operators with relay.analysis.list_op_freqs",
    "relay.backend.aot": _TIR,
    "relay.backend.contrib": _CPU,
    "relay.backend.te_compiler": "relay.build compiles whole modules; no single function is lowered",
    "relay.collage": _TUNING,
    "relay.frontend.caffe": _ONNX,
    "relay.frontend.caffe2": _ONNX,
    "relay.frontend.change_datatype": "convert types with relay.transform.ToMixedPrecision",
    "relay.frontend.coreml": _ONNX,
    "relay.frontend.darknet": _DARKNET,
    "relay.frontend.keras": _ONNX,
    "relay.frontend.mxnet_qnn_op_utils": "relay.frontend.from_mxnet imports networks whole",
    "relay.frontend.nnvm_common": "relay.frontend.common has what importers share",
    "relay.frontend.oneflow": _ONNX,
    "relay.frontend.paddlepaddle": _ONNX,
    "relay.frontend.pytorch_utils": "relay.frontend.from_pytorch imports networks whole",
    "relay.frontend.qnn_torch": "relay.frontend.from_pytorch imports networks whole",
    "relay.frontend.tensorflow": _ONNX,
    "relay.frontend.tensorflow2": _ONNX,
    "relay.frontend.tensorflow2_ops": _ONNX,
    "relay.frontend.tensorflow_ops": _ONNX,
    "relay.frontend.tensorflow_parser": _ONNX,
    "relay.frontend.tflite": _ONNX,
    "relay.frontend.tflite_flexbuffer": _ONNX,
    "relay.op.contrib": "relayc compiles whole programs for CPUs: register patterns with register_pattern_table",
    "relay.op.strategy": _KERNELS,
    "relay.qnn.strategy": _KERNELS,
    "relay.quantize": "quantize with the command line of relayc: `relayc quantize`",
    "relay.testing.darknet": _DARKNET,
    "relay.testing.tf": _ONNX,
    "relay.testing.tflite": _ONNX,
    "relay.testing.yolo_detection": "draw the boxes of vision.non_max_suppression with a library for images",
    "relay.transform.memory_plan": _PLAN,
    "rpc": _REMOTE,
    "runtime.profiler_vm": _PROFILE,
    "runtime.profiling": _PROFILE,
    "script": _TIR,
    "target.codegen": "relayc writes machine code itself: `relayc build` and `relayc doctor` say how",
    "target.datatype": "relayc computes with the data types of Relay",
    "target.detect_target": "relayc compiles for the processor at hand: `relayc doctor` says which it is",
    "target.intrin": _TIR,
    "target.x86": "relayc compiles for the processor at hand: `relayc doctor` says which it is",
    "te": _KERNELS,
    "testing.aot": "create_executor('aot') and relay.build(..., executor=Executor('aot')) run here",
    "testing.auto_scheduler": _TUNING,
    "testing.autotvm": _TUNING,
    "testing.tir": _TIR,
    "testing.usmp": _MICRO,
    "tir": _TIR,
    "topi": _KERNELS,
    "utils": "`relayc profile` says what of the machine's peak each kernel reaches",
}

_POOLS = (
    "ConstantMemoryPools",
    "ConstantPoolInfo",
    "PoolInfo",
    "PoolInfoProperties",
    "WorkspaceMemoryPools",
    "WorkspacePoolInfo",
)

#: Names of packages that are real otherwise.
_FUNCTIONS: Dict[str, str] = {
    **{f"{package}{name}": _MICRO for package in ("", "ir.") for name in _POOLS},
    "build": "relayc builds Relay: call relay.build",
    "create_schedule": _KERNELS,
    "lower": _TIR,
    "relay.backend.executor_factory.function_metadata": _PLAN,
    "relay.op.OpStrategy": _KERNELS,
    "relay.op.register_broadcast_schedule": _KERNELS,
    "relay.op.register_compute": _KERNELS,
    "relay.op.register_external_compiler": _BYOC,
    "relay.op.register_gradient": _GRADIENTS,
    "relay.op.register_injective_schedule": _KERNELS,
    "relay.op.register_reduce_schedule": _KERNELS,
    "relay.op.register_schedule": _KERNELS,
    "relay.op.register_shape_func": _KERNELS,
    "relay.op.register_strategy": _KERNELS,
    "relay.transform.CollagePartition": _TUNING,
    "relay.transform.PlanDevices": _CPU,
}

#: Attributes of operators that nothing would read.
_ATTRIBUTES: Dict[str, str] = {
    "FPrimalGradient": _GRADIENTS,
    "FShapeFunc": _KERNELS,
    "FTVMCompute": _KERNELS,
    "FTVMExternalCompiler": _BYOC,
    "FTVMSchedule": _KERNELS,
    "FTVMStrategy": _KERNELS,
    "TShapeDataDependent": _KERNELS,
}

#: Global functions of TVM by their registered names.
_GLOBAL_FUNCTIONS: Dict[str, str] = {
    "relay._transform.RemoveStandaloneReshapes": _TIR,
    "relay.collage.PartitionForTesting": _TUNING,
    "relay.tec.LowerTE": _KERNELS,
    "relay.transform.RecoverVirtualDeviceMap": _CPU,
    "runtime.amx_init": _KERNELS,
    "runtime.amx_tileconfig": _KERNELS,
}

#: What is called to make a decorator: the call imports, and so does what is decorated.
_DECORATORS = ("autotvm.register_topi_compute", "autotvm.register_topi_schedule")

_ROOT = __name__.rpartition(".")[0]


def advice(path: str) -> Optional[str]:
    """The sentence for a path below `tvm` such as `te.compute`; `None` if it is not refused."""
    if path in _FUNCTIONS:
        return _FUNCTIONS[path]
    while path:
        if path in _MODULES:
            return _MODULES[path]
        path = path.rpartition(".")[0]
    return None


class RefusedType(type):
    """The type of refused names: what would compute raises, what only names does not."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and len(args) == 1 and isinstance(args[0], (type, types.FunctionType)):
            # A decorator: the definition may stand in a file whose other parts run.
            return _make(f"{cls._path}({args[0].__name__})", cls._advice)
        if cls._path in _DECORATORS and len(args) == 1:
            return _make(f"{cls._path}({args[0]!r})", cls._advice)
        raise NotImplementedError(f"tvm.{cls._path} is not part of Relay: {cls._advice}")

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") or name == "_pytestfixturefunction":
            raise AttributeError(name)
        return _make(f"{cls._path}.{name}", cls._advice)

    def __getitem__(cls, index: Any) -> Any:
        return cls()

    def __iter__(cls) -> Any:
        return cls()

    def __repr__(cls) -> str:
        return f"<tvm.{cls._path}, not part of Relay>"


class Refused(metaclass=RefusedType):
    """Base of all refused names."""

    _path = ""
    _advice = ""


def _make(path: str, sentence: str) -> type:
    name = path.rpartition(".")[2]
    return RefusedType(name, (Refused,), {"_path": path, "_advice": sentence, "__module__": _ROOT})


def refuse(path: str, sentence: Optional[str] = None) -> type:
    """The refused name at a path below `tvm`, with the sentence of its module unless given."""
    return _make(path, sentence or advice(path) or "it is not part of relayc")


def check_attribute(name: str) -> None:
    """Raises NotImplementedError for an attribute of operators that nothing would read."""
    if name in _ATTRIBUTES:
        raise NotImplementedError(f"nothing reads the attribute `{name}` of an operator: {_ATTRIBUTES[name]}")


def global_function(name: str) -> Optional[type]:
    """The refused name for a global function of TVM, if it is one that is not Relay."""
    sentence = _GLOBAL_FUNCTIONS.get(name)
    return None if sentence is None else _make(f"get_global_func({name!r})", sentence)


def module_getattr(module: str) -> Callable[[str], Any]:
    """A module's `__getattr__` that refuses the names it does not define.

    `module` is its `__name__`. A name that is a refused module is imported. In a
    package that is Relay's own, names that `advice` does not know are missing.
    """
    below = module[len(_ROOT) + 1 :]

    def getattr_(name: str) -> Any:
        path = f"{below}.{name}" if below else name
        if name.startswith("__") or name == "pytest_plugins" or advice(path) is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        if path in _MODULES:
            return importlib.import_module(f"{_ROOT}.{path}")
        return refuse(path)

    return getattr_


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the refused modules that have no file of their own."""

    def find_spec(
        self, fullname: str, path: Optional[Sequence[str]] = None, target: Any = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        if not fullname.startswith(_ROOT + ".") or advice(fullname[len(_ROOT) + 1 :]) is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module: types.ModuleType) -> None:
        path = module.__name__[len(_ROOT) + 1 :]
        module.__doc__ = f"tvm.{path} is not part of Relay: {advice(path)}."
        module.__path__ = []
        module.__getattr__ = module_getattr(module.__name__)  # type: ignore[method-assign]


def install() -> None:
    """Makes the refused modules importable, behind those that have files."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
