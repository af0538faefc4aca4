// What a rank's training thread runs, as opposed to its device and its connections.
#pragma once

#include <cstdint>
#include <string_view>

#include "schemas/function.h"

namespace eroica {

inline bool RunsOnThread(FunctionClass function_class) {
  return function_class == FunctionClass::kPython || function_class == FunctionClass::kCpuOp;
}

// What live producers call the time in which the thread could have run and was not let:
// producers/host (run queue) and producers/python (the interpreter's lock). The name goes on with
// who had it instead.
inline constexpr std::string_view kWaitForProcessor = "(runnable, waiting for a processor";
// And producers/python so much of a wait for a batch in which the worker that loads it waited for
// one: the name then ends so.
inline constexpr std::string_view kOfLoaderWorkers = ": the data loader's workers)";
inline constexpr std::string_view kWaitForGil = "(waiting for the GIL";
// Ranks that share too few processors wait for them at different times. A claim about such waits
// needs this many of the newest windows.
inline constexpr int64_t kWindowsOfSharedWaits = 4;
inline bool IsStarvation(std::string_view function) {
  return function.starts_with(kWaitForProcessor) || function.starts_with(kWaitForGil);
}

// What claims call a thread that runs all that it runs slower (cause_function.h).
inline bool IsWholeThread(std::string_view function) {
  return function == "every python function" || function == "every cpu_op function";
}

// What the Python producer calls the wait for a batch that workers load; behind it the name says
// how many they are and what they read, up to a ")".
inline constexpr std::string_view kWaitForData = "(waiting for the data loader's ";
inline bool IsWaitForData(std::string_view function) { return function.starts_with(kWaitForData); }

// What producers/python calls the part of a function's time in which its thread waited for a
// processor: a row that is hidden (schemas/hidden_row.h), called by the function.
inline constexpr std::string_view kWaitsWithin = "(waits for a processor)";

// And what producers/host calls the time in which a program used the processors that it waited for.
inline bool IsCompetitor(std::string_view function) {
  return function.starts_with("(processor used by ");
}

}  // namespace eroica
