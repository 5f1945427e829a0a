#include "data/skipped.h"

#include <algorithm>
#include <new>

#include "base/error.h"

namespace evener::data {

std::string failure_of(const std::function<void()>& work, const char* what) {
  try {
    work();
    return "";
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    return error.what();
  } catch (const std::bad_alloc&) {
    return std::string("not enough memory to ") + what;
  }
}

std::string first_skipped(const std::vector<Skipped>& skipped) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(skipped.size(), kShown); ++i) {
    text += "\n  " + skipped[i].file + ": " + skipped[i].reason;
  }
  if (skipped.size() > kShown) text += "\n  and " + std::to_string(skipped.size() - kShown) + " more";
  return text;
}

}  // namespace evener::data
