#include "app/report/parts.h"

#include "detect/page/page.h"
#include "infer/calibrate/page.h"
#include "infer/page.h"
#include "quantize/page.h"

namespace evener::app {

std::vector<report::PagePart> page_parts(std::span<report::Run> runs) {
  return {detection::detection_part(runs), inference::predictions_part(runs), inference::calibration_part(runs),
          quantization::layers_part(runs)};
}

}  // namespace evener::app
