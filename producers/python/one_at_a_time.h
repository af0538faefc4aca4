// Who comes first does something; who comes meanwhile, from another thread or further in on the
// same one, does without it. In builds of CPython with a GIL nobody comes meanwhile from another
// thread; in a free-threaded one that happens when another thread begins to train. It does not
// wait: a thread that waits while it is attached keeps the interpreter from stopping the others.
#pragma once

#include <atomic>

namespace eroica {

class OneAtATime {
 public:
  // Holds it until it is destroyed, where it is held.
  class Turn {
   public:
    explicit Turn(OneAtATime* of)
        : of_(of->busy_.test_and_set(std::memory_order_acquire) ? nullptr : of) {}
    ~Turn() {
      if (of_ != nullptr) of_->busy_.clear(std::memory_order_release);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    explicit operator bool() const { return of_ != nullptr; }

   private:
    OneAtATime* const of_;
  };

  // [any thread] False: somebody else has it.
  Turn Take() { return Turn(this); }

 private:
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};

}  // namespace eroica
