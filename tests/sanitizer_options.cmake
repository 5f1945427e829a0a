# CTest reads this before the tests of a build with sanitizers; the programs that tests start inherit it. A finding ends a
# program with a code that no command has, so that it isn't taken for a refusal. Suppressions are for other people's
# libraries alone, in a file beside this with their reasons.
set(ENV{ASAN_OPTIONS} "exitcode=99:detect_stack_use_after_return=1")
set(ENV{LSAN_OPTIONS} "exitcode=99")
set(ENV{UBSAN_OPTIONS} "exitcode=99:print_stacktrace=1")
# Replicas are forked by a program whose sampler is a thread, and the native engine starts threads in them.
set(ENV{TSAN_OPTIONS}
    "exitcode=99:halt_on_error=1:die_after_fork=0:suppressions='${CMAKE_CURRENT_LIST_DIR}/tsan_suppressions.txt'")
# OpenVINO's TBB opens a library of its own in a way (RTLD_DEEPBIND) that the address sanitizer refuses; it asks this.
set(ENV{TBB_ENABLE_SANITIZERS} "1")
