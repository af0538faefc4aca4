// What an importer makes of the events of one name. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "producers/import/function_classifier.h"
#include "producers/import/function_table.h"
#include "producers/import/pause_marks.h"
#include "schemas/event_batch.h"

namespace eroica {

// What is known of a name in a category, so that it is looked at once and not once an event.
struct NamedEvent {
  enum class Use : uint8_t {
    kFunction,
    kEnqueue,
    kRecord,
    kLaunch,
    kKernel,
    kCollectiveKernel,
    kPython,
    kFrame,
    kStep,
    kExecution,
    kEnqueueAnnotation
  };
  Use use = Use::kFunction;
  CollectiveOperation operation = CollectiveOperation::kUnknown;
  bool optimizer = false;
  bool dataloader = false;
  uint32_t function = 0;  // row of the table, or the name's index for frames
  int64_t step = -1;
  Pause pause = Pause::kNone;
  int32_t peer = -1;  // within the group: of the annotation of a send or receive
  CollectiveLibrary library = CollectiveLibrary::kUnknown;  // of an execution

  // category: not kUnwanted, not kUnknown. Enters the function into the table.
  static NamedEvent Of(TraceCategory category, const std::string& name, TraceFunctions& functions);
};

}  // namespace eroica
