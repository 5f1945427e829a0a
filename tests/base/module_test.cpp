// Modules are made on the spot with the C compiler, under the name of a known one.
#include "base/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/test_folder.h"

namespace evener {
namespace {

using test::TestFolder;
using test::write_text;
using testing::AllOf;
using testing::HasSubstr;

std::string module_source(int abi, const std::string& reason) {
  return "struct Entry { int abi; const char* (*version)(void); const char* (*unusable_reason)(void); void* "
         "(*create)(void); };\n"
         "static const char* version(void) { return \"1.2.3\"; }\n"
         "static const char* reason(void) { return \"" +
         reason +
         "\"; }\n"
         "static void* create(void) { static int made; return &made; }\n"
         "const struct Entry evener_module = {" +
         std::to_string(abi) + ", version, reason, create};\n";
}

class Module : public testing::Test {
 protected:
  void SetUp() override { setenv("EVENER_MODULE_DIR", folder_.path().c_str(), 1); }
  void TearDown() override { unsetenv("EVENER_MODULE_DIR"); }

  // Compiles `source` as the module "torch"; false where there is no compiler.
  bool build(const std::string& source, const std::string& flags = "") {
    write_text(folder_ / "module.c", source);
    const std::string file = (folder_ / "libevener_torch.so").string();
    return std::system(("cc -shared -fPIC -o " + file + " " + (folder_ / "module.c").string() + " " + flags).c_str()) ==
           0;
  }

  TestFolder folder_;
};

TEST_F(Module, NotBuilt) {
  const ModuleStatus status = module_status("torch");
  EXPECT_EQ(status.name, "torch");
  EXPECT_EQ(status.state, ModuleState::kNotBuilt);
  EXPECT_THAT(status.reason, HasSubstr("libevener_torch.so"));
  EXPECT_THAT(status.remedy, HasSubstr("-DEVENER_TORCH=ON"));
  try {
    require_module("torch");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'torch' is not built"), HasSubstr(status.remedy)));
  }
}

TEST_F(Module, NotALibrary) {
  write_text(folder_ / "libevener_torch.so", "this is no library");
  EXPECT_EQ(module_status("torch").state, ModuleState::kNotLoadable);
  EXPECT_THAT(module_status("torch").reason, HasSubstr("libevener_torch.so: "));
}

TEST_F(Module, NamesAMissingLibrary) {
  write_text(folder_ / "dep.c", "int needed(void) { return 1; }\n");
  const std::string library = (folder_ / "libneeded_part.so").string();
  if (std::system(("cc -shared -fPIC -o " + library + " " + (folder_ / "dep.c").string()).c_str()) != 0) {
    GTEST_SKIP() << "there is no C compiler 'cc'";
  }
  ASSERT_TRUE(build("int needed(void); int use(void) { return needed(); }\n",
                    "-L" + folder_.path().string() + " -lneeded_part"));
  std::filesystem::remove(library);
  const ModuleStatus status = module_status("torch");
  EXPECT_EQ(status.state, ModuleState::kNotLoadable);
  EXPECT_THAT(status.reason, HasSubstr("'libneeded_part.so' that it needs was not found"));
  EXPECT_THAT(status.remedy, HasSubstr("evener setup"));
}

TEST_F(Module, OfAnOptionalLibraryNamesItsPackages) {
  EXPECT_THAT(module_status("heif").remedy, HasSubstr("Debian: libheif-dev"));
  write_text(folder_ / "dep.c", "int needed(void) { return 1; }\n");
  const std::string library = (folder_ / "libavif.so.99").string();
  if (std::system(
          ("cc -shared -fPIC -Wl,-soname,libavif.so.99 -o " + library + " " + (folder_ / "dep.c").string()).c_str()) !=
      0) {
    GTEST_SKIP() << "there is no C compiler 'cc'";
  }
  ASSERT_TRUE(build("int needed(void); int use(void) { return needed(); }\n", library));
  std::filesystem::rename(folder_ / "libevener_torch.so", folder_ / "libevener_avif.so");
  std::filesystem::remove(library);
  const ModuleStatus status = module_status("avif");
  EXPECT_EQ(status.state, ModuleState::kNotLoadable);
  EXPECT_THAT(status.reason, HasSubstr("'libavif.so.99' that it needs was not found"));
  EXPECT_THAT(status.remedy, HasSubstr("Debian: libavif99"));
}

TEST_F(Module, WithoutItsSymbol) {
  if (!build("int something_else;\n")) GTEST_SKIP() << "there is no C compiler 'cc'";
  EXPECT_EQ(module_status("torch").state, ModuleState::kNotLoadable);
  EXPECT_THAT(module_status("torch").reason, HasSubstr("no symbol 'evener_module'"));
}

TEST_F(Module, OfAnotherVersion) {
  if (!build(module_source(kModuleAbi + 1, ""))) GTEST_SKIP() << "there is no C compiler 'cc'";
  EXPECT_EQ(module_status("torch").state, ModuleState::kNotLoadable);
  EXPECT_THAT(module_status("torch").reason, HasSubstr("version 2 of the module interface, this program has 1"));
}

TEST_F(Module, NotUsableHere) {
  if (!build(module_source(kModuleAbi, "no AVX2"))) GTEST_SKIP() << "there is no C compiler 'cc'";
  const ModuleStatus status = module_status("torch");
  EXPECT_EQ(status.state, ModuleState::kNotUsable);
  EXPECT_EQ(status.reason, "no AVX2");
  EXPECT_EQ(status.version, "");
  EXPECT_THROW(require_module("torch"), Error);
}

TEST_F(Module, Usable) {
  if (!build(module_source(kModuleAbi, ""))) GTEST_SKIP() << "there is no C compiler 'cc'";
  const ModuleStatus status = module_status("torch");
  EXPECT_EQ(status.state, ModuleState::kUsable);
  EXPECT_EQ(status.version, "1.2.3");
  EXPECT_EQ(status.reason + status.remedy, "");
  const ModuleEntry& entry = require_module("torch");
  EXPECT_NE(entry.create(), nullptr);
  EXPECT_EQ(&entry, &require_module("torch"));  // opened once
}

TEST_F(Module, UnknownNamesAreNotLookedFor) {
  try {
    module_status("trch");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'torch'?"));
  }
}

}  // namespace
}  // namespace evener
