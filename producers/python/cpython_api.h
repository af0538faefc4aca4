// The few functions of CPython that we call, found in the running process: one binary serves
// CPython 3.9 to 3.15, and none of its headers is needed. Objects are opaque; the caller gives a
// new reference back with Py_DecRef. Everything but what is marked [any thread] needs the GIL. In a
// free-threaded build (PEP 703, from 3.13 on) "with the GIL" is with an attached thread state,
// which several threads have at a time: what the GIL would keep apart needs a guard of its own.
// None of these guards waits: a thread that waits while it is attached keeps the interpreter from
// stopping the others.
#pragma once

#include <cstddef>
#include <cstdint>

namespace eroica {

using PyPointer = void*;  // a PyObject, or a thread or interpreter state

struct CPythonApi {
  int minor = 0;  // of 3.minor
  bool free_threaded = false;

  const char* (*Py_GetVersion)();
  int (*PyGILState_Ensure)();  // [any thread]
  void (*PyGILState_Release)(int);
  int (*Py_IsFinalizing)();                // [any thread]; may be null
  PyPointer (*PyInterpreterState_Main)();  // [any thread]
  // [any thread] Up to 3.11 Py_AddPendingCall reads the thread state of whoever holds the GIL,
  // which may end just then; the inner function takes the interpreter instead.
  int (*Py_AddPendingCall)(int (*)(void*), void*);
  int (*_PyEval_AddPendingCall)(PyPointer, int (*)(void*), void*);  // up to 3.11; may be null

  PyPointer (*PyEval_GetFrame)();           // borrowed
  PyPointer (*PyFrame_GetBack)(PyPointer);  // new, null at the outermost
  PyPointer (*PyFrame_GetCode)(PyPointer);  // new
  int (*PyFrame_GetLasti)(PyPointer);       // null before 3.11
  void (*PyEval_SetProfile)(int (*)(PyPointer, PyPointer, int, PyPointer), PyPointer);

  void (*Py_IncRef)(PyPointer);
  void (*Py_DecRef)(PyPointer);
  PyPointer (*PyObject_GetAttrString)(PyPointer, const char*);      // new
  PyPointer (*PyObject_Repr)(PyPointer);                            // new
  PyPointer (*PyObject_CallFunction)(PyPointer, const char*, ...);  // new
  long (*PyLong_AsLong)(PyPointer);
  PyPointer (*PyLong_FromLong)(long);                                           // new
  PyPointer (*PyUnicode_AsEncodedString)(PyPointer, const char*, const char*);  // new
  char* (*PyBytes_AsString)(PyPointer);
  int (*PyBytes_AsStringAndSize)(PyPointer, char**, ptrdiff_t*);
  PyPointer (*PyUnicode_FromString)(const char*);         // new
  PyPointer (*PyImport_GetModule)(PyPointer);             // new; null without an error: not loaded
  ptrdiff_t (*PySequence_Size)(PyPointer);                // -1: an error
  PyPointer (*PySequence_GetItem)(PyPointer, ptrdiff_t);  // new
  void (*PyErr_Clear)();
  PyPointer (*PyErr_Occurred)();  // borrowed
  void (*PyErr_SetString)(PyPointer, const char*);
  PyPointer* PyExc_TypeError;
  long long (*PyLong_AsLongLong)(PyPointer);
  unsigned long long (*PyLong_AsUnsignedLongLongMask)(PyPointer);
  PyPointer (*PyLong_FromLongLong)(long long);                   // new
  PyPointer (*PyLong_FromUnsignedLongLong)(unsigned long long);  // new
  PyPointer (*PyCFunction_NewEx)(void*, PyPointer, PyPointer);   // new
  PyPointer _Py_NoneStruct;                                      // None itself
  PyPointer (*PyThreadState_Get)();                              // may be null
  uint64_t (*PyThreadState_GetID)(PyPointer);                    // likewise
  PyPointer PyCode_Type;                                         // likewise
  PyPointer PyUnicode_Type;                                      // likewise
};

// Looks the functions up. False, and why, where this is no CPython that we know.
bool FindCPython(CPythonApi* api, const char** why);

}  // namespace eroica
