// The page of a network to share.
#include "infer/share/share_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/sample_records_helpers.h"

namespace evener::inference {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(SharePage, SaysWhatItTellsApartHowWellAndFromWhat) {
  SharedNetwork shared;
  shared.training = test::sample_run("run");
  shared.training.record.data.classes = {"bream", "red <fish>", "shrimp"};
  shared.training.record.data.train = 321;
  shared.training.record.model.name = "resnet18";
  shared.folder = "runs/a b";
  shared.weight_bytes = 45'000'000;
  record::Record& judging = shared.judging.record;
  judging.kind = "infer";
  judging.machine.cpu = "Zen";
  judging.confusion.part = "test";
  record::Metric accuracy;
  accuracy.name = "accuracy";
  accuracy.unit = "share";
  accuracy.value = 0.9;
  accuracy.of_images = 1000;
  record::add_metric(judging, accuracy);
  record::Metric speed;
  speed.name = "network_images_per_s";
  speed.unit = "images/s";
  speed.value = 123;
  record::add_metric(judging, speed);
  shared.predictions = {.html = "<i>shown</i>", .style = ".shown {}"};
  const std::string page = share_page(shared);
  EXPECT_THAT(page, AllOf(HasSubstr("<i>shown</i>"), HasSubstr("<style>.shown {}</style>")));
  EXPECT_THAT(page, AllOf(HasSubstr("Tells bream, red &lt;fish&gt; and shrimp apart"), HasSubstr("A resnet18"),
                          HasSubstr("3 classes")));
  EXPECT_THAT(page, AllOf(HasSubstr("90.0 % <small>of 1000 images"), HasSubstr("88 to 92 %"), HasSubstr("321 images")));
  EXPECT_THAT(page, AllOf(HasSubstr("45 MB"), HasSubstr("123 images per second"), HasSubstr(">Zen<")));
  EXPECT_THAT(page, Not(HasSubstr("chose the best")));
  judging.confusion.part = "validation";
  EXPECT_THAT(share_page(shared), HasSubstr("they chose the best of its states"));
}

}  // namespace
}  // namespace evener::inference
