#include "producers/python/cpython_api.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

namespace eroica {
namespace {

constexpr int kFirstMinor = 9;
constexpr int kLastMinor = 15;

template <typename Function>
bool Find(const char* name, Function** function) {
  void* symbol = dlsym(RTLD_DEFAULT, name);
  static_assert(sizeof symbol == sizeof *function);
  std::memcpy(function, &symbol,
              sizeof symbol);  // ISO C++ has no cast from an object pointer to a function's
  return symbol != nullptr;
}

bool FindRequired(CPythonApi* api) {
  return Find("Py_GetVersion", &api->Py_GetVersion) &&
         Find("PyGILState_Ensure", &api->PyGILState_Ensure) &&
         Find("PyGILState_Release", &api->PyGILState_Release) &&
         Find("PyInterpreterState_Main", &api->PyInterpreterState_Main) &&
         Find("Py_AddPendingCall", &api->Py_AddPendingCall) &&
         Find("PyEval_GetFrame", &api->PyEval_GetFrame) &&
         Find("PyFrame_GetBack", &api->PyFrame_GetBack) &&
         Find("PyFrame_GetCode", &api->PyFrame_GetCode) &&
         Find("PyEval_SetProfile", &api->PyEval_SetProfile) && Find("Py_IncRef", &api->Py_IncRef) &&
         Find("Py_DecRef", &api->Py_DecRef) &&
         Find("PyObject_GetAttrString", &api->PyObject_GetAttrString) &&
         Find("PyObject_Repr", &api->PyObject_Repr) &&
         Find("PyObject_CallFunction", &api->PyObject_CallFunction) &&
         Find("PyLong_AsLong", &api->PyLong_AsLong) &&
         Find("PyLong_FromLong", &api->PyLong_FromLong) &&
         Find("PyUnicode_AsEncodedString", &api->PyUnicode_AsEncodedString) &&
         Find("PyBytes_AsString", &api->PyBytes_AsString) &&
         Find("PyBytes_AsStringAndSize", &api->PyBytes_AsStringAndSize) &&
         Find("PyUnicode_FromString", &api->PyUnicode_FromString) &&
         Find("PyImport_GetModule", &api->PyImport_GetModule) &&
         Find("PySequence_Size", &api->PySequence_Size) &&
         Find("PySequence_GetItem", &api->PySequence_GetItem) &&
         Find("PyErr_Clear", &api->PyErr_Clear) && Find("PyErr_Occurred", &api->PyErr_Occurred) &&
         Find("PyErr_SetString", &api->PyErr_SetString) &&
         Find("PyExc_TypeError", &api->PyExc_TypeError) &&
         Find("PyLong_AsLongLong", &api->PyLong_AsLongLong) &&
         Find("PyLong_AsUnsignedLongLongMask", &api->PyLong_AsUnsignedLongLongMask) &&
         Find("PyLong_FromLongLong", &api->PyLong_FromLongLong) &&
         Find("PyLong_FromUnsignedLongLong", &api->PyLong_FromUnsignedLongLong) &&
         Find("PyCFunction_NewEx", &api->PyCFunction_NewEx) &&
         (api->_Py_NoneStruct = dlsym(RTLD_DEFAULT, "_Py_NoneStruct")) != nullptr;
}

}  // namespace

bool FindCPython(CPythonApi* api, const char** why) {
  *api = {};  // those that this version lacks are null
  if (!FindRequired(api)) {
    *why = "CPython's functions are not visible in this process";
    return false;
  }
  const char* version = api->Py_GetVersion();
  if (std::strncmp(version, "3.", 2) == 0) api->minor = std::atoi(version + 2);
  if (api->minor < kFirstMinor || api->minor > kLastMinor) {
    *why = "a CPython outside 3.9 to 3.15";
    return false;
  }
  api->free_threaded = std::strstr(version, "free-threading") != nullptr;
  Find("PyThreadState_Get", &api->PyThreadState_Get);
  Find("PyThreadState_GetID", &api->PyThreadState_GetID);
  api->PyCode_Type = dlsym(RTLD_DEFAULT, "PyCode_Type");
  api->PyUnicode_Type = dlsym(RTLD_DEFAULT, "PyUnicode_Type");
  if (!Find("Py_IsFinalizing", &api->Py_IsFinalizing))
    Find("_Py_IsFinalizing", &api->Py_IsFinalizing);
  if (api->minor <= 11) Find("_PyEval_AddPendingCall", &api->_PyEval_AddPendingCall);
  if (api->minor >= 11 && !Find("PyFrame_GetLasti", &api->PyFrame_GetLasti)) {
    *why = "PyFrame_GetLasti is missing";
    return false;
  }
  return true;
}

}  // namespace eroica
