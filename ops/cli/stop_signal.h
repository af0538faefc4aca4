// SIGINT and SIGTERM as a question that loops may ask: has somebody told us to stop?
#pragma once

namespace eroica {

// From the first call on, the first such signal is remembered instead of ending the program; a
// second one ends it at once.
void CatchStopSignals();
bool StopRequested();

}  // namespace eroica
