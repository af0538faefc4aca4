// The last frame of ours on a thread, in a callback that C code calls, or in a coroutine: what a
// library throws (std::bad_alloc, Beast, RocksDB, toml++) stops here, and its text goes to the
// owner, who logs it and ends or continues the unit. std::terminate is never reached.
//
// Any thread. Also for producers, inside training processes: the standard library alone.
#pragma once

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <typeinfo>
#include <utility>

namespace eroica {

// What was thrown, as text in a room of fixed size; a longer text is cut.
class Thrown {
 public:
  // Inside a catch clause: the exception that it caught.
  static Thrown Current() noexcept {
    Thrown thrown;
    const std::exception_ptr exception = std::current_exception();
    if (exception == nullptr) {  // another language's
      std::snprintf(thrown.text_, sizeof(thrown.text_), "an exception of another language");
      return thrown;
    }
    char* const name = TypeName();
    try {
      std::rethrow_exception(exception);
    } catch (const std::exception& known) {
      std::snprintf(thrown.text_, sizeof(thrown.text_), "%s: %s", name != nullptr ? name : "",
                    known.what());
    } catch (...) {
      std::snprintf(thrown.text_, sizeof(thrown.text_), "%s", name != nullptr ? name : "unknown");
    }
    std::free(name);
    return thrown;
  }
  // Of a coroutine that has ended by it; null: nothing was thrown.
  static Thrown Of(const std::exception_ptr& exception) noexcept;

  Thrown() { text_[0] = '\0'; }

  // "std::runtime_error: what it says"; of what is no std::exception the type alone. Empty: nothing
  // was thrown.
  const char* text() const { return text_; }

 private:
  // To be freed; null where there is no memory.
  static char* TypeName() noexcept {
    const std::type_info* const type = abi::__cxa_current_exception_type();
    int status = 0;
    return type == nullptr ? nullptr : abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
  }

  char text_[240];  // filled in where something was thrown: boundaries are on hot paths
};

// Answers what `work` answers; where it throws, what on_thrown(Thrown) answers, which is called
// once the exception is gone. The forced end of a thread (pthread_exit, pthread_cancel: CPython
// ends threads so) is no exception and passes: its handler has no object to refer to, by which a
// sanitizer would end the program.
template <typename Work, typename OnThrown>
__attribute__((no_sanitize("null"))) auto AtBoundary(Work&& work, OnThrown&& on_thrown)
    -> decltype(work()) {
  Thrown thrown;
  try {
    return std::forward<Work>(work)();
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    thrown = Thrown::Current();
  }
  return std::forward<OnThrown>(on_thrown)(thrown);
}

inline Thrown Thrown::Of(const std::exception_ptr& exception) noexcept {
  Thrown thrown;
  if (exception == nullptr) return thrown;
  AtBoundary([&] { std::rethrow_exception(exception); },
             [&](const Thrown& current) { thrown = current; });
  return thrown;
}

// The outermost boundary: where on_thrown itself throws (there is no memory for its log line),
// that is dropped. A thread's function, or a callback of a C library that expects no answer.
template <typename Work, typename OnThrown>
void RunAtBoundary(Work&& work, OnThrown&& on_thrown) {
  AtBoundary(
      [&] {
        AtBoundary([&] { std::forward<Work>(work)(); },
                   [&](const Thrown& thrown) { std::forward<OnThrown>(on_thrown)(thrown); });
      },
      [](const Thrown&) {});
}

}  // namespace eroica
