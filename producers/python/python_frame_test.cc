#include "producers/python/python_frame.h"

#include <gtest/gtest.h>

#include <array>

namespace eroica {
namespace {

constexpr std::array<std::string_view, 4> kSearchPath = {"/jobs/vision", "/usr/lib/python3.11",
                                                         "/usr/lib/python3.11/site-packages/", ""};

TEST(PythonFrame, FilesAreNamedFromTheLongestFolderOfTheSearchPath) {
  EXPECT_EQ(PythonFrameName("/jobs/vision/train.py", 73, "layer", kSearchPath),
            "train.py(73): layer");
  EXPECT_EQ(PythonFrameName("/usr/lib/python3.11/site-packages/torch/nn/modules/module.py", 1'791,
                            "_call_impl", kSearchPath),
            "torch/nn/modules/module.py(1791): _call_impl");
  EXPECT_EQ(PythonFrameName("/usr/lib/python3.11/threading.py", 295, "wait", kSearchPath),
            "threading.py(295): wait");
}

TEST(PythonFrame, FilesOfNoFolderAreNamedWithoutFolders) {
  EXPECT_EQ(PythonFrameName("/jobs/visionary/train.py", 1, "<module>", kSearchPath),
            "train.py(1): <module>");
  EXPECT_EQ(PythonFrameName("./train.py", 1, "main", {}), "train.py(1): main");
  EXPECT_EQ(PythonFrameName("<string>", 1, "<module>", kSearchPath), "<string>(1): <module>");
  EXPECT_EQ(PythonFrameName("", 0, "", kSearchPath), "(0): ");
  EXPECT_EQ(PythonFrameName("/jobs/vision", 1, "f", kSearchPath), "vision(1): f");
}

TEST(PythonFrame, TheImportSystemIsBootstrap) {
  for (const char* file :
       {"<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>", "<frozen runpy>",
        "/usr/lib/python3.9/runpy.py", "/usr/lib/python3.9/importlib/_bootstrap.py"}) {
    EXPECT_TRUE(IsBootstrapFrame(file)) << file;
  }
  for (const char* file : {"/jobs/runpy_train.py", "train.py", "<string>", ""})
    EXPECT_FALSE(IsBootstrapFrame(file));
}

TEST(PythonFrame, WaitsForPeersAreSymptoms) {
  EXPECT_EQ(
      WaitOfPythonFrame(
          "<built-in method wait of pybind11_builtins.pybind11_detail_function_record_v1 object>"),
      WaitKind::kPeer);
  EXPECT_EQ(WaitOfPythonFrame("<built-in method wait of torch._C._distributed_c10d.Work object>"),
            WaitKind::kPeer);
  for (const char* name : {"torch/cuda/__init__.py(783): synchronize",
                           "torch/distributed/distributed_c10d.py(5320): all_gather_single",
                           "torch/distributed/distributed_c10d.py(3610): send",
                           "torch/distributed/pipelining/schedules.py(953): _wait_batch_p2p",
                           "torch/distributed/_functional_collectives.py(144): wait_tensor"}) {
    EXPECT_EQ(WaitOfPythonFrame(name), WaitKind::kPeer) << name;
  }
}

TEST(PythonFrame, OtherWaitsAreWhereToLookFurther) {
  for (const char* name :
       {"<built-in method acquire of _thread.lock object>",
        "<built-in method poll of select.poll object>", "<built-in function select>",
        "<built-in method recv_into of SSLSocket object>",
        "<built-in method __enter__ of _thread.lock object>", "threading.py(295): wait",
        "multiprocessing/queues.py(98): get", "python3.11/selectors.py(402): select",
        "threading.py(1518): _shutdown"}) {
    EXPECT_EQ(WaitOfPythonFrame(name), WaitKind::kOther) << name;
  }
}

TEST(PythonFrame, WorkIsNoWait) {
  for (const char* name :
       {"<built-in function sleep>", "<built-in method get of dict object>", "train.py(10): wait",
        "train.py(20): synchronize",
        "<built-in method recv of pybind11_builtins.pybind11_detail_function_record_v1 object>",
        "torch/distributed/distributed_c10d.py(3496): isend",
        "torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py(9): all_gather_copy_in",
        "torch/autograd/graph.py(1100): _engine_run_backward", "nn.Module: Block_0", "x"}) {
    EXPECT_EQ(WaitOfPythonFrame(name), WaitKind::kNone) << name;
  }
}

TEST(PythonFrame, AddressesAreNoPartOfAName) {
  EXPECT_EQ(StripAddress("<built-in method get of dict object at 0x7ff32c314800>"),
            "<built-in method get of dict object>");
  EXPECT_EQ(StripAddress("<a at 0x1F> and <b at 0xab>"), "<a> and <b>");
}

}  // namespace
}  // namespace eroica
