#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/communicator.h"
#include "comm/ranks_helpers.h"

namespace evener::test {
namespace {

using testing::HasSubstr;

TEST(SelfCommunicator, LeavesEverythingAsItIs) {
  const auto self = comm::make_self_communicator();
  EXPECT_EQ(self->rank(), 0);
  EXPECT_EQ(self->size(), 1);
  EXPECT_STREQ(self->name(), "self");
  auto values = values_of(1, 100);
  self->all_reduce(values, comm::CommunicationDtype::kBFloat16);
  self->broadcast(std::as_writable_bytes(std::span(values)), 0);
  self->barrier();
  self->set_members(std::vector{0});
  EXPECT_EQ(values, values_of(1, 100));
  std::vector<double> doubles = {0.1, 0.2};
  self->all_reduce(doubles);
  EXPECT_EQ(doubles, (std::vector<double>{0.1, 0.2}));
}

TEST(SelfCommunicator, HasNobodyElse) {
  const auto self = comm::make_self_communicator();
  EXPECT_THAT(error_of([&] { self->send({}, 1); }), HasSubstr("rank 0 can't send to rank 1"));
  EXPECT_THAT(error_of([&] { self->receive({}, 0); }), HasSubstr("can't receive from rank 0"));
  EXPECT_THAT(error_of([&] { self->broadcast({}, 1); }), HasSubstr("broadcast from rank 1"));
  EXPECT_THAT(error_of([&] { self->set_members(std::vector{0, 1}); }), HasSubstr("only have rank 0"));
}

}  // namespace
}  // namespace evener::test
