// Whole folders as jobs leave them, small: traces of the profiler with steps, kernels, collectives
// and Python frames; flight-recorder dumps as JSON and as pickles; operation tables; TCP_INFO.
#pragma once

#include "tests/fuzz/fuzz_choices.h"
#include "tests/fuzz/fuzz_folder.h"

namespace eroica {

FuzzFolder FolderOfTraces(FuzzChoices& choices);
FuzzFolder FolderOfDumps(FuzzChoices& choices);
FuzzFolder FolderOfTables(FuzzChoices& choices);
// Any of them, or several in one folder.
FuzzFolder SomeFolder(FuzzChoices& choices);

}  // namespace eroica
