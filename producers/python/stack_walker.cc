#include "producers/python/stack_walker.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "producers/python/python_frame.h"

namespace eroica {
namespace {

constexpr ptrdiff_t kMostSearchFolders = 256;

}  // namespace

std::string TextOf(const CPythonApi& python, PyPointer text) {
  std::string result;
  PyPointer bytes = python.PyUnicode_AsEncodedString(text, "utf-8", "replace");
  if (bytes != nullptr) {
    if (const char* raw = python.PyBytes_AsString(bytes); raw != nullptr) result = raw;
    python.Py_DecRef(bytes);
  }
  python.PyErr_Clear();
  return result;
}

std::string TextAttribute(const CPythonApi& python, PyPointer object, const char* name) {
  std::string result;
  PyPointer value = python.PyObject_GetAttrString(object, name);
  if (value != nullptr) {
    result = TextOf(python, value);
    python.Py_DecRef(value);
  }
  python.PyErr_Clear();
  return result;
}

long NumberAttribute(const CPythonApi& python, PyPointer object, const char* name) {
  long result = 0;
  PyPointer value = python.PyObject_GetAttrString(object, name);
  if (value != nullptr) {
    result = python.PyLong_AsLong(value);
    python.Py_DecRef(value);
  }
  python.PyErr_Clear();
  return result;
}

PyPointer SysAttribute(const CPythonApi& python, const char* name) {
  PyPointer value = nullptr;
  PyPointer text = python.PyUnicode_FromString("sys");
  PyPointer sys = text == nullptr ? nullptr : python.PyImport_GetModule(text);
  if (sys != nullptr) {
    value = python.PyObject_GetAttrString(sys, name);
    python.Py_DecRef(sys);
  }
  if (text != nullptr) python.Py_DecRef(text);
  python.PyErr_Clear();
  return value;
}

std::vector<std::string> SearchPath(const CPythonApi& python) {
  std::vector<std::string> folders;
  PyPointer path = SysAttribute(python, "path");
  if (path == nullptr) return folders;
  const ptrdiff_t count = std::min(python.PySequence_Size(path), kMostSearchFolders);
  for (ptrdiff_t i = 0; i < count; ++i) {
    PyPointer folder = python.PySequence_GetItem(path, i);
    if (folder == nullptr) break;  // another thread has taken it off
    folders.push_back(TextOf(python, folder));
    python.Py_DecRef(folder);
  }
  python.Py_DecRef(path);
  python.PyErr_Clear();
  return folders;
}

std::string NameOfCode(const CPythonApi& python, const std::string& file, long line,
                       const std::string& function) {
  const std::vector<std::string> folders = SearchPath(python);
  const std::vector<std::string_view> views(folders.begin(), folders.end());
  return PythonFrameName(file, static_cast<int>(line), function, views);
}

StackWalker::StackWalker(const CPythonApi& python, std::string own_folder, int resume_opcode)
    : python_(python), own_folder_(std::move(own_folder)), resume_opcode_(resume_opcode) {
  codes_.reserve(1'024);
}

void StackWalker::Walk(PythonStack* stack) {
  stack->depth = 0;
  stack->innermost_at_start = false;
  stack->named.clear();
  PyPointer frame = python_.PyEval_GetFrame();
  if (frame != nullptr) python_.Py_IncRef(frame);
  for (bool innermost = true; frame != nullptr && stack->depth < PythonStack::kDeepest;
       innermost = false) {
    if (PyPointer code = python_.PyFrame_GetCode(frame); code != nullptr) {
      const Code* known = Find(code, &stack->named);
      if (known != nullptr && known->number != kLeftOut) {
        if (innermost) stack->innermost_at_start = IsAtStart(frame, *known);
        stack->codes[stack->depth++] = known->number;
      }
      python_.Py_DecRef(code);
    }
    PyPointer caller = python_.PyFrame_GetBack(frame);
    python_.Py_DecRef(frame);
    frame = caller;
  }
  if (frame != nullptr) python_.Py_DecRef(frame);
}

uint32_t StackWalker::NumberOf(PyPointer code, std::vector<NamedCode>* named) {
  const Code* known = Find(code, named);
  return known == nullptr ? kLeftOut : known->number;
}

const StackWalker::Code* StackWalker::Find(PyPointer code, std::vector<NamedCode>* named) {
  if (const auto known = codes_.find(code); known != codes_.end()) return &known->second;
  if (codes_.size() >= kMostCodes) return nullptr;
  const Code* added = &codes_.emplace(code, Describe(code, named)).first->second;
  python_.Py_IncRef(code);
  return added;
}

StackWalker::Code StackWalker::Describe(PyPointer code, std::vector<NamedCode>* named) {
  const std::string file = TextAttribute(python_, code, "co_filename");
  if (IsBootstrapFrame(file) || (!own_folder_.empty() && file.starts_with(own_folder_))) return {};
  const long line = NumberAttribute(python_, code, "co_firstlineno");
  named->push_back(
      {next_number_, NameOfCode(python_, file, line, TextAttribute(python_, code, "co_name"))});
  return {.number = next_number_++, .first_instruction = FirstInstruction(code)};
}

int StackWalker::FirstInstruction(PyPointer code) const {
  if (resume_opcode_ < 0) return -1;
  int found = -1;
  PyPointer bytes = python_.PyObject_GetAttrString(code, "co_code");
  char* raw = nullptr;
  ptrdiff_t size = 0;
  if (bytes != nullptr && python_.PyBytes_AsStringAndSize(bytes, &raw, &size) == 0) {
    for (ptrdiff_t at = 0; at < size && found < 0; at += 2) {  // an opcode and its argument
      if (static_cast<unsigned char>(raw[at]) == resume_opcode_) found = static_cast<int>(at);
    }
  }
  if (bytes != nullptr) python_.Py_DecRef(bytes);
  python_.PyErr_Clear();
  return found;
}

bool StackWalker::IsAtStart(PyPointer frame, const Code& code) const {
  if (python_.PyFrame_GetLasti != nullptr)
    return python_.PyFrame_GetLasti(frame) <= code.first_instruction;
  return NumberAttribute(python_, frame, "f_lasti") < 0;
}

}  // namespace eroica
