// The calls that a script makes at every step, as functions built into CPython: some 50 ns each
// where ctypes takes a microsecond, and on a processor that others share, with cold caches, a few
// microseconds where ctypes takes ten or more. They do what those of python_calls.h do.
#pragma once

#include "producers/python/cpython_api.h"

extern "C" {

// A new reference to the function of that name (attributes of eroica.native.Native); to None where
// there is none, or where this is no CPython that we know: the caller goes on with ctypes. With the
// GIL.
eroica::PyPointer eroica_python_builtin(const char* name);

}  // extern "C"
