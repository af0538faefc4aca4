// What damage, other versions and malice do to a folder of traces: changes of values, of structure,
// of files and of bytes.
#pragma once

#include "tests/fuzz/fuzz_choices.h"
#include "tests/fuzz/fuzz_folder.h"

namespace eroica {

// Some changes, by choice none. Counts them in mutations_made.
void MutateFolder(FuzzChoices& choices, FuzzFolder* folder);

}  // namespace eroica
