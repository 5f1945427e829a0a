#include "cli/options/output_flags.h"

#include "base/error.h"

namespace evener::cli {

void OutputFlags::check_together() const {
  if (*resume && out->empty()) throw UsageError("--resume needs --out DIR, the folder of the run to go on with");
}

}  // namespace evener::cli
