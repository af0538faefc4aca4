# Writes OUT, a header with the commit that SOURCE_DIR is at ("unknown" where it is no clone), with
# "+changes" where tracked files differ from it. The file is touched only when that changes.
execute_process(COMMAND git -C "${SOURCE_DIR}" rev-parse --short=12 HEAD
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit "unknown")
else()
  execute_process(COMMAND git -C "${SOURCE_DIR}" diff-index --quiet HEAD -- ERROR_QUIET RESULT_VARIABLE changed)
  if(changed)
    string(APPEND commit "+changes")
  endif()
endif()
file(CONFIGURE OUTPUT "${OUT}" CONTENT "#define EROICA_COMMIT \"@commit@\"\n" @ONLY)
