// A host as PyTorch is one, without PyTorch: process groups and futures of C++ that hold Python
// callables, call them from any thread, and are destroyed after the interpreter where nobody
// destroyed them before. It is loaded by ctypes (outliving_host.py) and finds CPython in the
// process.
//
// As in pybind11, whatever drops or calls a callable takes the GIL for it; where there is no
// interpreter any more the process ends by SIGSEGV, here reliably.
#include <dlfcn.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace {

using PyPointer = void*;

template <typename Function>
Function* Python(const char* name) {
  void* symbol = dlsym(RTLD_DEFAULT, name);
  Function* function = nullptr;
  static_assert(sizeof symbol == sizeof function);
  std::memcpy(&function, &symbol, sizeof symbol);
  return function;
}

bool HasInterpreter() {
  static auto* const initialized = Python<int()>("Py_IsInitialized");
  return initialized() != 0;
}

bool IsEnding() {
  static auto* const known = Python<int()>("Py_IsFinalizing");
  static auto* const older = Python<int()>("_Py_IsFinalizing");
  return (known != nullptr ? known : older)() != 0;
}

// The state of a thread that gave the GIL away and will take it back.
thread_local PyPointer t_waiting = nullptr;

// Who takes the GIL back while the interpreter ends is ended here, in a destructor: by SIGABRT.
class WithoutGil {
 public:
  WithoutGil() { t_waiting = Python<PyPointer()>("PyEval_SaveThread")(); }
  ~WithoutGil() {
    Python<void(PyPointer)>("PyEval_RestoreThread")(std::exchange(t_waiting, nullptr));
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;
};

// As pybind11: with the thread's own state where it has one, else with a new one.
class Gil {
 public:
  Gil() : own_(t_waiting != nullptr) {
    if (own_) {
      Python<void(PyPointer)>("PyEval_RestoreThread")(t_waiting);
    } else {
      if (!HasInterpreter()) ::raise(SIGSEGV);
      state_ = Python<int()>("PyGILState_Ensure")();
    }
  }
  ~Gil() {
    if (own_) {
      Python<PyPointer()>("PyEval_SaveThread")();
    } else {
      Python<void(int)>("PyGILState_Release")(state_);
    }
  }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

 private:
  bool own_;
  int state_ = 0;
};

class Callable {
 public:
  explicit Callable(PyPointer object) : object_(object) {
    Python<void(PyPointer)>("Py_IncRef")(object_);
  }
  ~Callable() {
    const Gil gil;
    Python<void(PyPointer)>("Py_DecRef")(object_);
  }
  Callable(const Callable&) = delete;
  Callable& operator=(const Callable&) = delete;

  // As a backend's threads call: nothing passes through, not even the end of the thread.
  void Call(PyPointer argument) const noexcept {
    const Gil gil;
    PyPointer result = Python<PyPointer(PyPointer, PyPointer, PyPointer)>(
        "PyObject_CallFunctionObjArgs")(object_, argument, nullptr);
    if (result != nullptr) Python<void(PyPointer)>("Py_DecRef")(result);
    Python<void()>("PyErr_Clear")();
  }

 private:
  PyPointer object_;
};

struct Group {
  std::map<int64_t, std::unique_ptr<Callable>> before, after;
};

// Done once. What completes it calls back.
class Future {
 public:
  bool done() {
    const std::lock_guard lock(mutex_);
    return done_;
  }
  void AddCallback(std::function<void()> callback) {
    {
      const std::lock_guard lock(mutex_);
      if (!done_) {
        callbacks_.push_back(std::move(callback));
        return;
      }
    }
    callback();
  }
  // False where it was done before.
  bool Complete() {
    std::vector<std::function<void()>> callbacks;
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(done_, true)) return false;
      callbacks.swap(callbacks_);
    }
    for (const auto& callback : callbacks) callback();
    return true;
  }

 private:
  std::mutex mutex_;
  bool done_ = false;
  std::vector<std::function<void()>> callbacks_;
};

// Destroyed by exit(), as PyTorch's registry of groups is: after the interpreter. A group is, too,
// where no Python object holds it any more.
struct Registry {
  ~Registry() {
    static constexpr char kText[] = "groups released\n";
    if (!groups.empty()) [[maybe_unused]]
      const ssize_t written = ::write(1, kText, sizeof kText - 1);
    groups.clear();
    for (auto& future : failing_at_exit) future->Complete();
  }
  std::vector<std::shared_ptr<Group>> groups;
  std::vector<std::shared_ptr<Future>> failing_at_exit;
};

Registry& TheRegistry() {
  static Registry registry;
  return registry;
}

std::shared_ptr<Future>& Of(void* future) { return *static_cast<std::shared_ptr<Future>*>(future); }
Group& GroupOf(void* group) { return **static_cast<std::shared_ptr<Group>*>(group); }
std::map<int64_t, std::unique_ptr<Callable>>& HooksOf(void* group, bool before) {
  return before ? GroupOf(group).before : GroupOf(group).after;
}

}  // namespace

extern "C" {

void* outliving_group() {
  return new std::shared_ptr<Group>(TheRegistry().groups.emplace_back(std::make_shared<Group>()));
}

void outliving_release_group(void* group) { delete static_cast<std::shared_ptr<Group>*>(group); }

void outliving_destroy_groups() { TheRegistry().groups.clear(); }

void outliving_register(void* group, bool before, int64_t id, PyPointer hook) {
  HooksOf(group, before)[id] = std::make_unique<Callable>(hook);
}

void outliving_unregister(void* group, bool before, int64_t id) {
  HooksOf(group, before).erase(id);
}

// Gives the GIL away, as the binding of a collective does.
void outliving_fire(void* group, bool before, PyPointer arguments) {
  const WithoutGil without_gil;
  for (const auto& [id, hook] : HooksOf(group, before)) hook->Call(arguments);
}

void* outliving_future() { return new std::shared_ptr<Future>(std::make_shared<Future>()); }

void outliving_release_future(void* future) {
  delete static_cast<std::shared_ptr<Future>*>(future);
}

bool outliving_done(void* future) { return Of(future)->done(); }

void outliving_call_at_end(void* future, PyPointer callback, PyPointer argument) {
  Of(future)->AddCallback(
      [held = std::make_shared<Callable>(callback), argument] { held->Call(argument); });
}

// Without the GIL.
bool outliving_complete(void* future) { return Of(future)->Complete(); }

// Done when the other one is, unless it was done before.
void* outliving_collect(void* future) {
  auto* const ours = new std::shared_ptr<Future>(std::make_shared<Future>());
  Of(future)->AddCallback([ours = *ours] { ours->Complete(); });
  return ours;
}

// On a thread of the backend: when the interpreter has begun to end.
void outliving_complete_while_ending(void* future) {
  std::thread([future = Of(future)] {
    while (!IsEnding() && HasInterpreter()) ::poll(nullptr, 0, 1);
    future->Complete();
  }).detach();
}

void outliving_complete_at_exit(void* future) {
  TheRegistry().failing_at_exit.push_back(Of(future));
}

}  // extern "C"
