#include "producers/import/named_event.h"

#include <optional>

#include "producers/import/collective_kernels.h"
#include "producers/python/python_frame.h"

namespace eroica {
namespace {

bool IsOfTheHost(TraceCategory category) {
  return category == TraceCategory::kCpuOp || category == TraceCategory::kRuntime ||
         category == TraceCategory::kAnnotation || category == TraceCategory::kPython;
}

// What process groups of devices call their operations: "nccl:all_reduce". XCCL is of Intel,
// HCCL of Ascend and Gaudi, MCCL of Moore Threads.
bool IsLaunchOfLibrary(std::string_view name) {
  const std::string_view library = name.substr(0, name.find(':'));
  return library != name && (library == "nccl" || library == "rccl" || library == "xccl" ||
                             library == "hccl" || library == "mccl");
}

uint32_t InternFunction(TraceFunctions& functions, const std::string& name,
                        FunctionClass function_class, WaitKind wait) {
  return functions.Intern(TraceFunctions::kNone, functions.InternName(name), function_class, wait);
}

}  // namespace

NamedEvent NamedEvent::Of(TraceCategory category, const std::string& name,
                          TraceFunctions& functions) {
  using Use = NamedEvent::Use;
  NamedEvent named;
  named.step = StepOfAnnotation(name);
  if (named.step >= 0 && IsOfTheHost(category)) {
    named.use = Use::kStep;
    return named;
  }
  switch (category) {
    case TraceCategory::kKernel: {
      const std::optional<CollectiveOperation> joint = CollectiveKernel(name);
      named.use = joint ? Use::kCollectiveKernel : Use::kKernel;
      named.operation = joint.value_or(CollectiveOperation::kUnknown);
      named.library = LibraryOfName(name);
      named.function = InternFunction(
          functions, std::string(WithoutInstance(name)),
          joint ? FunctionClass::kCollective : FunctionClass::kGpuCompute, WaitKind::kNone);
      return named;
    }
    case TraceCategory::kGpuMemory:
      named.use = Use::kKernel;
      named.function = InternFunction(functions, name, FunctionClass::kMemoryOp, WaitKind::kNone);
      return named;
    case TraceCategory::kRuntime:
      named.use = name.find("Launch") != std::string::npos ? Use::kLaunch : Use::kFunction;
      named.function =
          InternFunction(functions, name, FunctionClass::kCpuOp, WaitOfRuntimeCall(name));
      return named;
    case TraceCategory::kPython:
      named.use = Use::kPython;
      named.function = functions.InternName(StripAddress(name));
      named.pause = PauseOfFunction(StripLine(name));
      return named;
    case TraceCategory::kAnnotation: break;
    default:
      named.operation =
          name.starts_with("c10d::") ? OperationOfName(name) : CollectiveOperation::kUnknown;
      named.use = named.operation != CollectiveOperation::kUnknown ? Use::kEnqueue
                  : name == "record_param_comms"                   ? Use::kRecord
                                                                   : Use::kFunction;
      named.function = InternFunction(functions, name, FunctionClass::kCpuOp, WaitOfOperator(name));
      return named;
  }
  named.operation = OperationOfName(name);
  if (name.starts_with("gloo:") || name.starts_with("mpi:")) {
    named.use = Use::kExecution;
    named.library = LibraryOfName(name);
    named.function = InternFunction(functions, name, FunctionClass::kCollective, WaitKind::kNone);
  } else if (IsLaunchOfLibrary(name)) {
    named.use = Use::kEnqueueAnnotation;
    if (IsPointToPoint(named.operation)) named.peer = PeerOfAnnotation(name);
  } else {
    named.use = Use::kFrame;
    named.optimizer = name.starts_with("Optimizer.step#");
    named.dataloader = name.starts_with("enumerate(DataLoader)#") && name.ends_with("__next__");
    named.function = functions.InternName(name);
  }
  return named;
}

}  // namespace eroica
