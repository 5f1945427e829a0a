#include "base/version.h"

namespace evener {

const char* program_version() {
  return EVENER_VERSION;
}

const char* program_release_date() {
  return EVENER_RELEASE_DATE;
}

}  // namespace evener
