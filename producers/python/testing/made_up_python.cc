#include "producers/python/testing/made_up_python.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

namespace eroica::made_up_python {
namespace {

using ProfileFunction = int (*)(PyPointer, PyPointer, int, PyPointer);
struct PendingCall {
  int (*function)(void*) = nullptr;
  void* argument = nullptr;
};

std::atomic<Function> throwing{Function::kNone};
std::atomic<int> thrown{0};
std::atomic<PendingCall> pending;
std::atomic<ProfileFunction> profile{nullptr};
int some_object = 0;

struct Held {
  std::mutex mutex;
  std::condition_variable changed;
  Function function = Function::kNone;
  int inside = 0;
  int most_inside = 0;
} held;

void MayHold(Function here) {
  std::unique_lock lock(held.mutex);
  if (held.function != here) return;
  held.most_inside = std::max(held.most_inside, ++held.inside);
  held.changed.wait(lock, [] { return held.function == Function::kNone; });
  --held.inside;
}

void MayThrow(Function here) {
  MayHold(here);
  if (throwing != here) return;
  ++thrown;
  throw std::bad_alloc();
}

}  // namespace

void ThrowIn(Function function) {
  thrown = 0;
  throwing = function;
}

void HoldIn(Function function) {
  const std::lock_guard lock(held.mutex);
  held.function = function;
  held.most_inside = held.inside;
}

void LetGo() {
  const std::lock_guard lock(held.mutex);
  held.function = Function::kNone;
  held.changed.notify_all();
}

int Inside() {
  const std::lock_guard lock(held.mutex);
  return held.inside;
}

int MostInside() {
  const std::lock_guard lock(held.mutex);
  return held.most_inside;
}

void Reset() {
  LetGo();
  ThrowIn(Function::kNone);
  pending = PendingCall{};
  profile = nullptr;
}

int Thrown() { return thrown; }

int RunPendingCall() {
  const PendingCall call = pending.exchange(PendingCall{});
  return call.function == nullptr ? -1 : call.function(call.argument);
}

int CallUnderProfile() {
  constexpr int kCall = 0;
  const ProfileFunction function = profile;
  return function == nullptr ? -1 : function(nullptr, &some_object, kCall, nullptr);
}

}  // namespace eroica::made_up_python

using eroica::PyPointer;
using eroica::made_up_python::Function;
using eroica::made_up_python::MayThrow;

// As CPython declares them, but that objects are opaque. Those that nothing here comes to are there
// to be found alone.
extern "C" {

const char* Py_GetVersion() { return "3.12.0 (made up)"; }
int Py_IsFinalizing() { return 0; }
PyPointer PyInterpreterState_Main() { return nullptr; }
void Py_IncRef(PyPointer) {}
void Py_DecRef(PyPointer) {}
void PyErr_Clear() {}
PyPointer PyUnicode_FromString(const char*) {
  MayThrow(Function::kUnicode);
  return nullptr;
}
PyPointer PyEval_GetFrame() {
  MayThrow(Function::kGetFrame);
  return nullptr;
}
PyPointer PyFrame_GetCode(PyPointer) {
  MayThrow(Function::kGetCode);
  return nullptr;
}
int Py_AddPendingCall(int (*function)(void*), void* argument) {
  MayThrow(Function::kAddPendingCall);
  eroica::made_up_python::pending = eroica::made_up_python::PendingCall{function, argument};
  return 0;
}
void PyEval_SetProfile(int (*function)(PyPointer, PyPointer, int, PyPointer), PyPointer) {
  eroica::made_up_python::profile = function;
}

PyPointer PyExc_TypeError = nullptr;
int made_up_none asm("_Py_NoneStruct") = 0;

#define EROICA_NEVER_CALLED(name) \
  void name() { std::abort(); }
EROICA_NEVER_CALLED(PyGILState_Ensure)
EROICA_NEVER_CALLED(PyGILState_Release)
EROICA_NEVER_CALLED(PyFrame_GetBack)
EROICA_NEVER_CALLED(PyFrame_GetLasti)
EROICA_NEVER_CALLED(PyObject_GetAttrString)
EROICA_NEVER_CALLED(PyObject_Repr)
EROICA_NEVER_CALLED(PyObject_CallFunction)
EROICA_NEVER_CALLED(PyLong_AsLong)
EROICA_NEVER_CALLED(PyLong_FromLong)
EROICA_NEVER_CALLED(PyLong_AsLongLong)
EROICA_NEVER_CALLED(PyLong_AsUnsignedLongLongMask)
EROICA_NEVER_CALLED(PyLong_FromLongLong)
EROICA_NEVER_CALLED(PyLong_FromUnsignedLongLong)
EROICA_NEVER_CALLED(PyUnicode_AsEncodedString)
EROICA_NEVER_CALLED(PyBytes_AsString)
EROICA_NEVER_CALLED(PyBytes_AsStringAndSize)
EROICA_NEVER_CALLED(PyImport_GetModule)
EROICA_NEVER_CALLED(PySequence_Size)
EROICA_NEVER_CALLED(PySequence_GetItem)
EROICA_NEVER_CALLED(PyErr_Occurred)
EROICA_NEVER_CALLED(PyErr_SetString)
EROICA_NEVER_CALLED(PyCFunction_NewEx)
#undef EROICA_NEVER_CALLED

}  // extern "C"
