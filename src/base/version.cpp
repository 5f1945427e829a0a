#include "base/version.h"

namespace evener {

const char* program_version() {
  return EVENER_VERSION;
}

}  // namespace evener
