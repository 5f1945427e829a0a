#include "base/sanitizer.h"

#include <cstdint>
#include <string_view>

// Defined where the program is linked with a sanitizer.
extern "C" [[gnu::weak]] void __sanitizer_set_report_fd(void* descriptor);

namespace evener::test {
namespace {

constexpr std::string_view kSanitizers = EVENER_SANITIZE;

}  // namespace

bool is_sanitized() {
  return !kSanitizers.empty();
}

bool has_thread_sanitizer() {
  return kSanitizers == "thread";
}

void tell_findings_to(int descriptor) {
  if (__sanitizer_set_report_fd != nullptr)
    __sanitizer_set_report_fd(reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)));
}

}  // namespace evener::test
