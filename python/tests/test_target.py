"""Targets: what is written, what it means, which one is current."""

from __future__ import annotations

import json
import pickle
import threading
from typing import Any

import pytest

import relayc.tvm as tvm
from relayc.tvm.target import Target, VirtualDevice, generic_func, make_compilation_config


@pytest.mark.parametrize(
    "written",
    [
        "llvm -mcpu=skylake-avx512 -mattr=+avx512f,+mmx -num-cores 4",
        "llvm --mcpu=skylake-avx512 --mattr=+avx512f,+mmx --num-cores=4",
        {"kind": "llvm", "mcpu": "skylake-avx512", "mattr": ["+avx512f", "+mmx"], "num-cores": 4},
        json.dumps({"kind": "llvm", "mcpu": "skylake-avx512", "mattr": ["+avx512f", "+mmx"], "num-cores": 4}),
    ],
)
def test_all_forms_mean_the_same(written: Any) -> None:
    target = Target(written)
    assert target.kind.name == "llvm" and list(target.keys) == ["cpu"]
    assert target.mcpu == "skylake-avx512" and target.mattr == ["+avx512f", "+mmx"]
    assert target.attrs["num-cores"] == 4
    text = "llvm -keys=cpu -mattr=+avx512f,+mmx -mcpu=skylake-avx512 -num-cores=4"
    assert str(target) == text
    for copy in (Target(str(target)), Target(target.export()), pickle.loads(pickle.dumps(target))):
        assert str(copy) == text


def test_keys_come_from_the_options_the_device_and_the_kind() -> None:
    assert list(Target("llvm -device=arm_cpu").keys) == ["arm_cpu", "cpu"]
    assert list(Target("cuda -keys=tensorcore").keys) == ["tensorcore", "cuda", "gpu"]
    assert Target("cuda").attrs["max_num_threads"] == 1024
    assert Target("llvm -fast-math").attrs["fast-math"] is True
    assert tvm.target.arm_cpu("rasp3b").model == "rasp3b"


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("no_such_kind", 'Target kind "no_such_kind" is not defined'),
        ("llvm -no-such=1", "Cannot recognize 'no-such'. Candidates are: .*mcpu"),
        ("llvm -num-cores=many", "'num-cores' takes an integer"),
        ({"mcpu": "skylake"}, '"kind" is not found'),
        ({"kind": "llvm", "mcpu": 3}, "'mcpu' takes a string"),
        ("", "empty"),
        ("{", "Error parsing target"),
        (3, "has to be a string or dictionary"),
        (None, "has to be a string or dictionary"),
    ],
)
def test_wrong_targets_say_why(written: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Target(written)


def test_hosts() -> None:
    target = Target("cuda", host="llvm -mcpu=skylake")
    assert target.host is not None and target.host.mcpu == "skylake"
    assert target.export()["host"]["kind"] == "llvm"
    assert Target("llvm").host is None
    assert str(Target("llvm").with_host("c").host) == "c -keys=cpu"
    with pytest.warns(UserWarning, match="target_host"):
        found, host = Target.canon_target_and_host("cuda", "llvm")
    assert found is not None and found.host is host
    assert Target.canon_target_and_host(None) == (None, None)


def test_lists_and_maps_of_targets() -> None:
    assert [t.kind.name for t in Target.canon_multi_target(["llvm", "cuda"]) or ()] == ["llvm", "cuda"]
    assert [t.kind.name for t in Target.canon_multi_target({1: "llvm"}) or ()] == ["llvm"]
    assert [t.kind.name for t in Target.canon_multi_target({"kind": "c"}) or ()] == ["c"]
    assert Target.canon_multi_target(None) is None
    modules, host = Target.canon_target_map_and_host({"cuda": 1, "llvm": 2}, "llvm")
    assert list(modules.values()) == [1, 2] and all(t.host is host for t in modules)


def test_the_current_target_is_the_threads_innermost() -> None:
    assert Target.current() is None
    with pytest.raises(ValueError, match="context required"):
        Target.current(allow_none=False)
    with Target("llvm"), Target("cuda") as inner:
        assert Target.current() is inner and Target.target_or_current(None) is inner
        found = []
        thread = threading.Thread(target=lambda: found.append(Target.current()))
        thread.start()
        thread.join()
        assert found == [None]
    assert Target.current() is None
    with pytest.raises(ValueError, match="not set"):
        Target.target_or_current(None)


def test_generic_functions_follow_the_current_target() -> None:
    @generic_func
    def name(x: int) -> str:
        return f"default {x}"

    @name.register(["cuda", "gpu"])
    def of_gpu(x: int) -> str:
        return f"gpu {x}"

    assert name(1) == "default 1"
    with Target("cuda"):
        assert name(2) == "gpu 2"
    with Target("llvm"):
        assert name(3) == "default 3"
    with pytest.raises(ValueError, match="already registered"):
        name.register("gpu", of_gpu)


def test_virtual_devices_and_configurations() -> None:
    cpu = VirtualDevice(tvm.cpu(), Target("llvm"), "global")
    assert (cpu.device_type, cpu.virtual_device_id, cpu.memory_scope) == (1, 0, "global")
    assert VirtualDevice().device_type == -1
    config = make_compilation_config(tvm.transform.PassContext(), "llvm")
    assert str(config.host_target) == "llvm -keys=cpu"
    assert config.primitive_targets[0] is config.optional_homogeneous_target
    assert config.default_primitive_virtual_device.device_type == 1


def test_devices_say_whether_they_exist() -> None:
    assert tvm.cpu().exist and not tvm.cuda(1).exist
    assert tvm.device("llvm") == tvm.cpu(0) and str(tvm.device("cuda", 1)) == "cuda(1)"
    with pytest.raises(ValueError, match="exists"):
        Target.from_device("cuda")
    assert Target.from_device("cpu").kind.name == "llvm"
