# CTest reads this before the tests of a build with sanitizers; the programs that tests start inherit it. A finding ends a
# program with a code that no command has, so that it isn't taken for a refusal. No suppression is needed so far; one
# would be for somebody else's library alone, in a file beside this with its reason.
# Leaks are not looked for: the tracer of LeakSanitizer itself crashes now and then (2 of 739 tests) at the end of programs
# that have opened LibTorch. The fuzz targets, which don't open it, do look for them.
set(ENV{ASAN_OPTIONS} "exitcode=99:detect_stack_use_after_return=1:detect_leaks=0")
set(ENV{UBSAN_OPTIONS} "exitcode=99:print_stacktrace=1")
set(ENV{TSAN_OPTIONS} "exitcode=99:halt_on_error=1")
