// What tests of downloads have in common: the module, and a server that no proxy stands before.
#pragma once

#include <gtest/gtest.h>

#include "base/module.h"
#include "base/test_folder.h"
#include "data/loopback_server.h"

namespace evener::test {

class FetchTest : public testing::Test {
 protected:
  using Request = LoopbackServer::Request;
  using Reply = LoopbackServer::Reply;

  /// Skips where the module is not built.
  void SetUp() override {
    if (module_status("fetch").state == ModuleState::kNotBuilt) GTEST_SKIP() << "built without EVENER_FETCH";
    without_proxy();
  }
};

}  // namespace evener::test
