// The page's part on the layers of a quantised network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <vector>

#include "base/test_folder.h"
#include "quantize/page.h"

namespace evener::quantization {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(LayersPart, TellsTheErrorsOfAQuantizedNetworksLayers) {
  const test::TestFolder folder;
  std::vector<report::Run> runs(1);
  runs[0].folder = folder.path();
  EXPECT_EQ(layers_part(runs).html, "");
  std::ofstream(folder / "layers.csv") << "layer,quantized,sqnr_db\nconv<1>,1,31.25\nfc,0,\nkilled,1";
  EXPECT_THAT(layers_part(runs).html,
              AllOf(HasSubstr("conv&lt;1&gt;"), HasSubstr("<span>int8</span>"), HasSubstr("31.2 dB"),
                    HasSubstr("<span>float</span>"), HasSubstr("no noise"), HasSubstr("--share:0.6250"),
                    Not(HasSubstr("killed"))));
}

}  // namespace
}  // namespace evener::quantization
