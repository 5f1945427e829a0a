#include "parallel/stage_links.h"

#include <span>
#include <utility>

#include "base/error.h"

namespace evener::parallel {
namespace {

/// Messages that are received ahead of take().
constexpr std::size_t kFetchedAhead = 1;

}  // namespace

StageSender::StageSender(std::unique_ptr<comm::Communicator> communicator, int to)
    : communicator_(std::move(communicator)), to_(to) {}

void StageSender::send(std::vector<engine::StageValues> values) {
  under_way_.push_back(thread_.run([this, values = std::move(values)] {
    for (const engine::StageValues& each : values) communicator_->send(std::as_bytes(each.values), to_);
  }));
}

void StageSender::finish() {
  for (; !under_way_.empty(); under_way_.pop_front()) under_way_.front().wait();
}

StageReceiver::StageReceiver(std::unique_ptr<comm::Communicator> communicator, int from)
    : communicator_(std::move(communicator)), from_(from) {}

void StageReceiver::expect(std::vector<std::size_t> sizes) {
  expected_.push_back(std::move(sizes));
  if (coming_.size() < kFetchedAhead) fetch();
}

void StageReceiver::fetch() {
  Message message;
  std::vector<std::span<float>> places;
  for (const std::size_t size : expected_.front()) {
    auto memory = std::make_shared<std::vector<float>>(size);
    message.values.push_back({*memory, memory});
    places.emplace_back(*memory);
  }
  expected_.pop_front();
  message.arrival = thread_.run([this, places = std::move(places)] {
    for (const std::span<float> place : places) communicator_->receive(std::as_writable_bytes(place), from_);
  });
  coming_.push_back(std::move(message));
}

std::vector<engine::StageValues> StageReceiver::take() {
  if (coming_.empty()) throw Error("a stage waits for values that it has not said it expects");
  Message message = std::move(coming_.front());
  coming_.pop_front();
  message.arrival.wait();
  if (!expected_.empty()) fetch();
  return std::move(message.values);
}

}  // namespace evener::parallel
