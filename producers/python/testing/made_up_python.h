// A CPython that is made up, for what real ones never do: the test program itself exports the
// functions that FindCPython looks for. No frame runs, sys is empty, and one function at a time
// throws. Thread-safe.
#pragma once

#include "producers/python/cpython_api.h"

namespace eroica::made_up_python {

// The functions of CPython that can throw std::bad_alloc, which none of the real ones does: what is
// thrown stands for what a library throws on the same thread.
enum class Function : int { kNone, kAddPendingCall, kGetFrame, kGetCode, kUnicode };

// As at the program's start: nothing throws, no call is pending, no profile function is set.
void Reset();
// From now on it throws. kNone: nothing does.
void ThrowIn(Function function);
// From now on who calls it stays in it until LetGo, as in an interpreter without a GIL.
void HoldIn(Function function);
void LetGo();
// How many threads are in the function that holds them, and how many were at most.
int Inside();
int MostInside();
// How often something was thrown since ThrowIn was last called.
int Thrown();

// Runs the pending call that was asked for last, as the interpreter does on its main thread; what
// it answered, -1 where none was asked for since.
int RunPendingCall();

// Tells the profile function that is set of a call. What it answered; -1 where none is set.
int CallUnderProfile();

}  // namespace eroica::made_up_python
