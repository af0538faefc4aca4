#include "producers/python/full_trace.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <utility>

#include "producers/core/producer_core.h"
#include "producers/core/thrown_line.h"
#include "producers/python/python_frame.h"
#include "producers/python/this_thread.h"
#include "producers/python/thread_lane.h"
#include "schemas/thread_boundary.h"

namespace eroica {
namespace {

// What a profile function is told (CPython's PyTrace_*).
enum ProfileEvent {
  kCall = 0,
  kReturn = 3,
  kBuiltInCall = 4,
  kBuiltInException = 5,
  kBuiltInReturn = 6
};

// Where CPython's PyCFunctionObject has what its repr is made of, in words, from 3.9 to 3.15:
// behind its head (PyObject: 2 words with a GIL, 4 in a free-threaded build), which ends in the
// type. Two objects with one definition and one type of self have one name.
struct BuiltInWords {
  size_t definition;
  size_t self;
  size_t type_of_self;  // in that
};
constexpr BuiltInWords kBuiltIn = {.definition = 2, .self = 3, .type_of_self = 1};
constexpr BuiltInWords kFreeThreadedBuiltIn = {.definition = 4, .self = 5, .type_of_self = 3};

uintptr_t WordOf(const void* object, size_t word) {
  return static_cast<const uintptr_t*>(object)[word];
}

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdu;
}

}  // namespace

FullTrace* FullTrace::instance_ = nullptr;

FullTrace::FullTrace(const CPythonApi& python, std::string own_folder)
    : python_(python), walker_(python, std::move(own_folder), -1) {
  open_.reserve(kDeepest);
  instance_ = this;
}

bool FullTrace::Wanted() const {
  return !paused_.load(std::memory_order_relaxed) && eroica_wants_full_trace() && eroica_trains();
}

bool FullTrace::IsHere() const { return IsInstalledOn(ThisThread()); }

bool FullTrace::SomebodyElseProfiles() const {
  bool somebody = false;
  PyPointer getter = SysAttribute(python_, "getprofile");
  PyPointer profiler = getter == nullptr ? nullptr : python_.PyObject_CallFunction(getter, nullptr);
  if (getter != nullptr) python_.Py_DecRef(getter);
  if (profiler != nullptr) {
    somebody = profiler != python_._Py_NoneStruct;
    python_.Py_DecRef(profiler);
  }
  python_.PyErr_Clear();
  return somebody;
}

void FullTrace::InstallIfWanted() {
  const auto turn = at_a_time_.Take();
  if (!turn || IsHere() || !Wanted()) return;
  if (SomebodyElseProfiles()) {
    if (!said_)
      std::fputs("eroica: no full trace of Python: another profiler is installed\n", stderr);
    said_ = true;
    return;
  }
  std::vector<NamedCode> named;
  const std::vector<uint32_t> codes = CodesHere(&named);
  functions_.Name(named);
  open_.clear();  // of a thread that trained before
  too_deep_ = 0;
  for (size_t i = codes.size(); i > 0; --i) PushCode(codes[i - 1]);
  // Without an object of ours: who saves sys.getprofile() and sets it again sets None, which is
  // harmless.
  python_.PyEval_SetProfile(&FullTrace::OnEvent, nullptr);
  installed_on_.store(ThisThread(), std::memory_order_relaxed);
}

void FullTrace::Remove() {
  const auto turn = at_a_time_.Take();
  if (turn) RemoveInTurn();
}

void FullTrace::RemoveInTurn() {
  if (!IsHere()) return;
  installed_on_.store(0, std::memory_order_relaxed);
  if (!SomebodyElseProfiles()) python_.PyEval_SetProfile(nullptr, nullptr);
  while (!open_.empty()) Pop();
}

uint32_t FullTrace::Parent() const {
  return open_.empty() ? EROICA_NO_PARENT : open_.back().function;
}

void FullTrace::Push(uint32_t function, bool left_out) {
  if (open_.size() >= kDeepest) {
    ++too_deep_;
  } else {
    open_.push_back({function, left_out || function == EROICA_NO_PARENT, eroica_now_ns()});
  }
}

void FullTrace::Pop() {
  if (too_deep_ > 0) {
    --too_deep_;
  } else if (!open_.empty()) {
    const Frame& frame = open_.back();
    const int64_t now_ns = frame.left_out ? 0 : eroica_now_ns();
    if (!frame.left_out && pace_.Keeps(frame.start_ns, now_ns, eroica_room()))
      eroica_interval(frame.start_ns, now_ns, frame.function, FullTraceLane());
    open_.pop_back();
  }
}

int FullTrace::OnEvent(PyPointer, PyPointer frame, int what, PyPointer argument) {
  FullTrace& trace = *instance_;
  const auto turn = trace.at_a_time_.Take();
  if (!turn || !trace.IsHere()) {  // by now another thread trains, and is traced
    int here = ThisThread();
    trace.installed_on_.compare_exchange_strong(here, 0);
    trace.python_.PyEval_SetProfile(nullptr, nullptr);
    return 0;
  }
  if (!trace.Wanted()) {
    trace.RemoveInTurn();
    return 0;
  }
  static std::atomic<bool> said{false};
  RunAtBoundary([&] { trace.Take(frame, what, argument); },
                [&](const Thrown& thrown) {
                  trace.RemoveInTurn();
                  SayThrownOnce(&said, "the full trace of Python", thrown);
                });
  return 0;
}

void FullTrace::Take(PyPointer frame, int what, PyPointer argument) {
  switch (what) {
    case kCall: OnCall(frame); break;
    case kBuiltInCall: OnBuiltInCall(argument); break;
    case kReturn:
    case kBuiltInReturn:
    case kBuiltInException: Pop(); break;
    default: break;
  }
}

void FullTrace::OnCall(PyPointer frame) {
  std::vector<NamedCode> named;
  uint32_t number = StackWalker::kLeftOut;
  if (PyPointer code = python_.PyFrame_GetCode(frame); code != nullptr) {
    number = walker_.NumberOf(code, &named);
    python_.Py_DecRef(code);
  }
  functions_.Name(named);
  PushCode(number);
}

std::vector<uint32_t> FullTrace::CodesHere(std::vector<NamedCode>* named) {
  std::vector<uint32_t> codes;
  PyPointer frame = python_.PyEval_GetFrame();
  if (frame != nullptr) python_.Py_IncRef(frame);
  while (frame != nullptr && codes.size() < kDeepest) {
    PyPointer code = python_.PyFrame_GetCode(frame);
    codes.push_back(walker_.NumberOf(code, named));
    python_.Py_DecRef(code);
    PyPointer caller = python_.PyFrame_GetBack(frame);
    python_.Py_DecRef(frame);
    frame = caller;
  }
  if (frame != nullptr) python_.Py_DecRef(frame);
  return codes;
}

void FullTrace::PushCode(uint32_t code) {
  const bool left_out = code == StackWalker::kLeftOut;
  Push(left_out ? Parent() : functions_.FunctionOf(Parent(), code), left_out);
}

void FullTrace::OnBuiltInCall(PyPointer function) {
  const BuiltInWords& words = python_.free_threaded ? kFreeThreadedBuiltIn : kBuiltIn;
  const auto* self = reinterpret_cast<const void*>(WordOf(function, words.self));
  uint64_t key = Mix(Parent(), WordOf(function, words.definition));
  key = Mix(key, self == nullptr ? 0 : WordOf(self, words.type_of_self));
  if (const auto known = built_ins_.find(key); known != built_ins_.end())
    return Push(known->second, false);
  if (built_ins_.size() >= kMostBuiltIns) return Push(Parent(), true);
  std::string name = "<built-in function>";
  if (PyPointer text = python_.PyObject_Repr(function); text != nullptr) {
    name = StripAddress(TextOf(python_, text));
    python_.Py_DecRef(text);
  }
  python_.PyErr_Clear();
  const int wait = static_cast<int>(WaitOfPythonFrame(name));
  const uint32_t number = eroica_function(name.c_str(), EROICA_PYTHON, wait, Parent());
  built_ins_.emplace(key, number);
  Push(number, false);
}

}  // namespace eroica
