// What the program and the library under test are built with. The code of the tests can't tell: it is compiled without
// sanitizers, but for the one of threads (tests/CMakeLists.txt).
#pragma once

namespace evener::test {

/// Whether a sanitizer looks at the program: it is slower by far, and its malloc() ends the program instead of
/// refusing.
bool is_sanitized();

/// Whether that is the sanitizer of threads, which can't follow processes that are forked.
bool has_thread_sanitizer();

/// Has sanitizers write what they find to this descriptor instead of stderr.
void tell_findings_to(int descriptor);

}  // namespace evener::test
