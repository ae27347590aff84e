"""What a test may require of the machine: features and their pytest marks.

A missing feature skips the test that requires it. Everything that is not a CPU is
missing here. Importing needs no pytest; marking a test does.
"""

from __future__ import annotations

import platform
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Union

__all__ = [
    "Feature",
    "device_enabled",
    "enabled_targets",
    "requires_nvcc_version",
    "requires_cuda_compute_version",
    "requires_package",
    "skip_if_32bit",
    "skip_if_wheel_test",
    "slow",
    "uses_gpu",
]

#: The targets over which tests run.
DEFAULT_TEST_TARGETS = ["llvm"]


def _test_targets() -> List[str]:
    import os

    names = os.environ.get("TVM_TEST_TARGETS", "").split(";")
    return list(dict.fromkeys(t.strip() for t in names if t.strip())) or DEFAULT_TEST_TARGETS


def device_enabled(target: str) -> bool:
    """Whether tests run on the device of a target string."""
    assert isinstance(target, str), "device_enabled requires a target as a string"
    kind = target.split(" ")[0]
    return kind in ("llvm", "c") and any(kind == t.split()[0] for t in _test_targets())


def enabled_targets() -> List[Any]:
    """Pairs of target string and device over which tests run."""
    from ..runtime import device

    return [(target, device(target)) for target in _test_targets() if device_enabled(target)]


class Feature:
    """A feature that a test may require; calling it decorates the test.

    `check` says whether it is there (a string says why not); `parent_features` are
    required too. The mark of a test has the feature's name.
    """

    _all_features: Dict[str, "Feature"] = {}

    def __init__(
        self,
        name: str,
        long_name: Optional[str] = None,
        check: Callable[[], Union[bool, str]] = lambda: False,
        parent_features: Union[str, Sequence[str]] = (),
    ) -> None:
        self.name = name
        self.long_name = long_name or name
        self.check = check
        parents = [parent_features] if isinstance(parent_features, str) else parent_features
        self.parent_features = list(parents)
        self._all_features[name] = self

    def _register_marker(self, config: Any) -> None:
        config.addinivalue_line("markers", f"{self.name}: Mark a test as using {self.long_name}")

    def _with_parents(self) -> Iterator["Feature"]:
        for parent in self.parent_features:
            yield from self._all_features[parent]._with_parents()
        yield self

    def marks(self, support_required: str = "compile-and-run") -> List[Any]:
        """The pytest marks of a test that requires it; `"optional"` never skips."""
        import pytest

        if support_required not in ("compile-and-run", "compile-only", "optional"):
            raise ValueError(f"Unknown feature support type: {support_required}")
        marks = []
        for feature in self._with_parents():
            marks.append(getattr(pytest.mark, feature.name))
            found = True if support_required == "optional" else feature.check()
            if found is not True:
                reason = found or f"Support for {feature.long_name} not present"
                marks.append(pytest.mark.skipif(True, reason=reason))
        return marks

    def __call__(self, func: Any = None, *, support_required: str = "compile-and-run") -> Any:
        def decorate(test: Any) -> Any:
            for mark in self.marks(support_required):
                test = mark(test)
            return test

        return decorate if func is None else decorate(func)

    @classmethod
    def require(cls, name: str, support_required: str = "compile-and-run") -> Any:
        """The decorator of the feature of that name."""
        return cls._all_features[name](support_required=support_required)


def _has_cpu_flags(*flags: str) -> bool:
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            known = next((line for line in file if line.startswith("flags")), "").split()
    except OSError:
        return False
    return all(flag in known for flag in flags)


#: Name, long name and parents of the features that are never there.
_ABSENT = [
    ("gpu", "a GPU", ()),
    ("cuda", "CUDA", "gpu"),
    ("tensorcore", "NVIDIA Tensor Core", "cuda"),
    ("cudnn", "cuDNN", "cuda"),
    ("cublas", "cuBLAS", "cuda"),
    ("nvptx", "NVPTX", "cuda"),
    ("cudagraph", "CUDA Graph", "cuda"),
    ("opencl", "OpenCL", "gpu"),
    ("rocm", "ROCm", "gpu"),
    ("matrixcore", "AMD Matrix Core", "rocm"),
    ("metal", "Metal", "gpu"),
    ("vulkan", "Vulkan", "gpu"),
    ("openclml", "CLML", ()),
    ("micro", "MicroTVM", ()),
    ("cutlass", "CUTLASS", ()),
    ("rpc", "RPC", ()),
    ("ethosn", "Arm(R) Ethos(TM)-N", ()),
    ("ethosu", "Arm(R) Ethos(TM)-U", ()),
    ("libtorch", "LibTorch", ()),
    ("hexagon", "Hexagon", ()),
    ("cmsisnn", "CMSIS NN", ()),
    ("corstone300", "Corstone-300", "cmsisnn"),
    ("vitis_ai", "Vitis AI", ()),
    ("arm_dot", "ARM dot product", ()),
]

for _name, _long_name, _parents in _ABSENT:
    globals()[f"requires_{_name}"] = Feature(_name, _long_name, parent_features=_parents)
    __all__.append(f"requires_{_name}")

requires_llvm = Feature("llvm", "the target llvm", check=lambda: True)
requires_x86 = Feature("x86", "x86", check=lambda: platform.machine() in ("x86_64", "AMD64"))
requires_x86_vnni = Feature(
    "x86_vnni",
    "x86 VNNI",
    check=lambda: _has_cpu_flags("avx512_vnni") or _has_cpu_flags("avx_vnni"),
)
requires_x86_avx512 = Feature(
    "x86_avx512",
    "x86 AVX-512",
    check=lambda: _has_cpu_flags("avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512f"),
)
requires_x86_amx = Feature("x86_amx", "x86 AMX", check=lambda: _has_cpu_flags("amx_int8"))
__all__ += [
    "requires_llvm",
    "requires_x86",
    "requires_x86_amx",
    "requires_x86_avx512",
    "requires_x86_vnni",
]


def uses_gpu(func: Any) -> Any:
    """Marks a test that uses a GPU if there is one; never skips."""
    return Feature.require("gpu", support_required="optional")(func)


def slow(func: Any) -> Any:
    """Marks a slow test; skipped while `SKIP_SLOW_TESTS` is true."""
    return _skipped_while("SKIP_SLOW_TESTS", "slow test")(func)


def skip_if_wheel_test(func: Any) -> Any:
    """Skips a test while `WHEEL_TEST` is true."""
    return _skipped_while("WHEEL_TEST", "not supported in a wheel")(func)


def _skipped_while(variable: str, reason: str) -> Any:
    import os

    import pytest

    value = os.environ.get(variable, "").lower() in ("true", "1", "yes")
    return pytest.mark.skipif(value, reason=f"{reason} ({variable} is set)")


def skip_if_32bit(reason: str) -> Callable[[Any], Any]:
    """Skips a test on a machine of 32 bits; there is none that relayc runs on."""
    return lambda func: func


def requires_package(*packages: str) -> Callable[[Any], Any]:
    """Skips a test unless the Python packages can be imported."""
    import importlib

    import pytest

    def missing(package: str) -> bool:
        try:
            importlib.import_module(package)
            return False
        except ImportError:
            return True

    marks = [
        pytest.mark.skipif(missing(package), reason=f"Cannot import '{package}'")
        for package in packages
    ]

    def decorate(func: Any) -> Any:
        for mark in marks:
            func = mark(func)
        return func

    return decorate


def requires_nvcc_version(*version: int) -> Any:
    """Skips a test: there is no CUDA."""
    return Feature.require("cuda")


def requires_cuda_compute_version(*version: int) -> Any:
    """Skips a test: there is no CUDA."""
    return Feature.require("cuda")
