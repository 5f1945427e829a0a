// The tests of this program see made-up GPUs: LibTorch's late device stands where its CUDA would
// (made_up/torch_device).
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/module.h"

int main(int argc, char** argv) {
  // Before parameters of tests are named, and anything is opened.
  const std::filesystem::path modules = evener::library_folder() / "made_up" / "modules";
  setenv("EVENER_MODULE_DIR", modules.c_str(), /*overwrite=*/0);
  setenv("MADE_UP_MEMORY_BYTES", "268435456", /*overwrite=*/0);  // tests fill it
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
