#include <gtest/gtest.h>

#include "base/device.h"
#include "base/test_folder.h"

namespace evener {
namespace {

TEST(NvidiaDriver, ShowsByAnyOfItsFiles) {
  const test::TestFolder none;
  test::write_text(none / "dev/null", "");
  test::write_text(none / "proc/driver/rtc", "");
  EXPECT_FALSE(shows_nvidia_driver(none.path()));
  for (const char* file : {"dev/nvidiactl", "proc/driver/nvidia/version", "dev/dxg"}) {
    const test::TestFolder root;
    test::write_text(root / file, "");
    EXPECT_TRUE(shows_nvidia_driver(root.path())) << file;
  }
}

}  // namespace
}  // namespace evener
