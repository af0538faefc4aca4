#include "producers/python/builtin_calls.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "producers/core/producer_core.h"
#include "producers/python/python_calls.h"
#include "producers/python/sampler_calls.h"

namespace eroica {
namespace {

// CPython's stable ABI, methodobject.h: layout and flags are the same from 3.9 to 3.15.
using BuiltinFunction = PyPointer (*)(PyPointer self, PyPointer const* arguments, ptrdiff_t count);
struct MethodDefinition {
  const char* name;
  BuiltinFunction function;
  int flags;
  const char* documentation;
};
constexpr int kFastCall = 0x0080;

CPythonApi python;  // set before the first function is handed out

PyPointer None() {
  python.Py_IncRef(python._Py_NoneStruct);
  return python._Py_NoneStruct;
}

// The arguments of one call, in order. A wrong count or type leaves CPython's error set.
class Arguments {
 public:
  Arguments(PyPointer const* arguments, ptrdiff_t count, ptrdiff_t wanted)
      : next_(arguments), ok_(count == wanted) {
    if (!ok_)
      python.PyErr_SetString(*python.PyExc_TypeError, "eroica: a wrong number of arguments");
  }

  int64_t Signed() {
    if (!ok_) return 0;
    const long long value = python.PyLong_AsLongLong(*next_++);
    ok_ = value != -1 || python.PyErr_Occurred() == nullptr;
    return value;
  }
  uint64_t Unsigned() {
    if (!ok_) return 0;
    const unsigned long long value = python.PyLong_AsUnsignedLongLongMask(*next_++);
    ok_ = value != ~0ULL || python.PyErr_Occurred() == nullptr;
    return value;
  }
  bool ok() const { return ok_; }

 private:
  PyPointer const* next_;
  bool ok_;
};

PyPointer Step(PyPointer, PyPointer const* arguments, ptrdiff_t count) {
  if (!Arguments(arguments, count, 0).ok()) return nullptr;
  return python.PyLong_FromLongLong(eroica_python_step());
}

PyPointer DataloaderNext(PyPointer, PyPointer const* arguments, ptrdiff_t count) {
  if (!Arguments(arguments, count, 0).ok()) return nullptr;
  eroica_python_dataloader_next();
  return None();
}

PyPointer Trains(PyPointer, PyPointer const* arguments, ptrdiff_t count) {
  if (!Arguments(arguments, count, 0).ok()) return nullptr;
  return python.PyLong_FromLongLong(eroica_trains() ? 1 : 0);
}

PyPointer OptimizerStep(PyPointer, PyPointer const* arguments, ptrdiff_t count) {
  Arguments in(arguments, count, 1);
  const bool begins_stage = in.Signed() != 0;
  if (!in.ok()) return nullptr;
  eroica_python_optimizer_step(begins_stage);
  return None();
}

PyPointer Mark(PyPointer, PyPointer const* arguments, ptrdiff_t count) {
  Arguments in(arguments, count, 1);
  const auto kind = static_cast<int>(in.Signed());
  if (!in.ok()) return nullptr;
  eroica_python_mark(kind);
  return None();
}

PyPointer Enter(PyPointer, PyPointer const* arguments, ptrdiff_t count) {
  Arguments in(arguments, count, 2);
  const auto function = static_cast<uint32_t>(in.Unsigned());
  const bool waits = in.Signed() != 0;
  if (!in.ok()) return nullptr;
  eroica_python_enter(function, waits);
  return None();
}

PyPointer Interval(PyPointer, PyPointer const* arguments, ptrdiff_t count) {
  Arguments in(arguments, count, 2);
  const int64_t start_ns = in.Signed();
  const auto function = static_cast<uint32_t>(in.Unsigned());
  if (!in.ok()) return nullptr;
  eroica_python_interval(start_ns, function);
  return None();
}

PyPointer AwaitWorker(PyPointer, PyPointer const* arguments, ptrdiff_t count) {
  Arguments in(arguments, count, 2);
  const auto process = static_cast<int32_t>(in.Signed());
  const auto function = static_cast<uint32_t>(in.Unsigned());
  if (!in.ok()) return nullptr;
  eroica_python_await_worker(process, function);
  return None();
}

PyPointer Collection(PyPointer, PyPointer const* arguments, ptrdiff_t count) {
  Arguments in(arguments, count, 1);
  const int64_t start_ns = in.Signed();
  if (!in.ok()) return nullptr;
  eroica_python_collection(start_ns);
  return None();
}

PyPointer CollectiveLaunched(PyPointer, PyPointer const* arguments, ptrdiff_t count) {
  Arguments in(arguments, count, 5);
  const auto communicator = static_cast<uint16_t>(in.Unsigned());
  const auto operation = static_cast<uint8_t>(in.Unsigned());
  const auto peer = static_cast<int32_t>(in.Signed());
  const uint64_t sequence = in.Unsigned();
  const uint64_t bytes = in.Unsigned();
  if (!in.ok()) return nullptr;
  return python.PyLong_FromUnsignedLongLong(
      eroica_python_collective_launched(communicator, operation, peer, sequence, bytes));
}

PyPointer CollectiveEnded(PyPointer, PyPointer const* arguments, ptrdiff_t count) {
  Arguments in(arguments, count, 4);
  const uint64_t ticket = in.Unsigned();
  const int64_t start_ns = in.Signed();
  const auto function = static_cast<uint32_t>(in.Unsigned());
  const bool asynchronous = in.Signed() != 0;
  if (!in.ok()) return nullptr;
  eroica_python_collective_ended(ticket, start_ns, function, asynchronous);
  return None();
}

PyPointer CollectiveDropped(PyPointer, PyPointer const* arguments, ptrdiff_t count) {
  Arguments in(arguments, count, 1);
  const uint64_t ticket = in.Unsigned();
  if (!in.ok()) return nullptr;
  eroica_python_collective_dropped(ticket);
  return None();
}

// CPython keeps pointers to them for as long as it runs.
std::array<MethodDefinition, 12> definitions = {{
    {"step", Step, kFastCall, nullptr},
    {"dataloader_next", DataloaderNext, kFastCall, nullptr},
    {"trains", Trains, kFastCall, nullptr},
    {"optimizer_step", OptimizerStep, kFastCall, nullptr},
    {"mark", Mark, kFastCall, nullptr},
    {"enter", Enter, kFastCall, nullptr},
    {"interval", Interval, kFastCall, nullptr},
    {"await_worker", AwaitWorker, kFastCall, nullptr},
    {"collection", Collection, kFastCall, nullptr},
    {"collective_launched", CollectiveLaunched, kFastCall, nullptr},
    {"collective_ended", CollectiveEnded, kFastCall, nullptr},
    {"collective_dropped", CollectiveDropped, kFastCall, nullptr},
}};

bool CanBuildIn() {
  const char* why = nullptr;
  return FindCPython(&python, &why);
}

}  // namespace
}  // namespace eroica

extern "C" {

eroica::PyPointer eroica_python_builtin(const char* name) {
  using eroica::definitions;
  static const bool can = eroica::CanBuildIn();
  if (!can) return eroica::python._Py_NoneStruct == nullptr ? nullptr : eroica::None();
  const auto found = std::find_if(definitions.begin(), definitions.end(), [name](const auto& row) {
    return std::strcmp(row.name, name) == 0;
  });
  if (found == definitions.end()) return eroica::None();
  return eroica::python.PyCFunction_NewEx(&*found, nullptr, nullptr);
}

}  // extern "C"
