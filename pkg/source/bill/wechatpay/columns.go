package wechatpay

import (
	"errors"
	"slices"

	"daybreak/pkg/source/bill"
)

// The names of columns, in groups that come and go together. Generations and kinds of bill differ in which groups they
// have: 24 columns before 2018 and for merchants without coupons, 27 since, fewer in bills of payments alone (SUCCESS), two
// more in bills of refunds alone (REFUND).
var (
	tradeNeeded = []string{"交易时间", "微信订单号", "商户订单号", "交易状态", "货币种类", "手续费"}
	tradeOther  = []string{
		"公众账号ID", "商户号", "子商户号", "特约商户号", "设备号", "用户标识", "交易类型", "付款银行",
		"商品名称", "商户数据包", "费率", "费率备注",
	}
	tradeOld     = []string{"总金额", "代金券或立减优惠金额", "企业红包金额"}
	tradeNew     = []string{"订单金额", "应结订单金额", "代金券金额"}
	refundNeeded = []string{"微信退款单号", "商户退款单号", "退款金额", "退款状态"}
	refundOther  = []string{
		"申请退款金额", "充值券退款金额", "代金券或立减优惠退款金额", "企业红包退款金额", "退款类型",
		"退款申请时间", "退款成功时间",
	}
)

func tradeKnown() []string {
	return slices.Concat(tradeNeeded, tradeOther, tradeOld, tradeNew, refundNeeded, refundOther)
}

// tradeColumns are the places of columns, -1 for those that a bill does not have.
type tradeColumns struct {
	time, requested, done                  int
	app, merchant, sub, kind, bank         int
	transaction, order, refundID, refundNo int
	status, refundStatus, currency         int
	goods, packet, fee, rate               int
	hasRefunds                             bool
}

// findColumns refuses a set of columns that is of no generation.
func findColumns(h *bill.Header) (tradeColumns, error) {
	needed := tradeNeeded
	hasRefunds := false
	for _, n := range slices.Concat(refundNeeded, refundOther) {
		hasRefunds = hasRefunds || h.Has(n)
	}
	if hasRefunds {
		needed = slices.Concat(needed, refundNeeded)
	}
	if err := h.Check(needed, tradeKnown()); err != nil {
		return tradeColumns{}, err
	}
	switch old, young := h.Has("总金额"), h.Has("订单金额"); {
	case old && young:
		return tradeColumns{}, errors.New("both 总金额 and 订单金额 are there: two generations of the bill in one header")
	case !old && !young:
		return tradeColumns{}, errors.New("neither 订单金额 nor 总金额 is there: what was ordered cannot be told from what is settled")
	case young && hasRefunds && !h.Has("申请退款金额"):
		return tradeColumns{}, errors.New("申请退款金额 is missing, which stands beside 订单金额 in bills with refunds")
	}
	return tradeColumns{
		time: h.At("交易时间"), requested: h.At("退款申请时间"), done: h.At("退款成功时间"),
		app: h.At("公众账号ID"), merchant: h.At("商户号"), sub: h.At("特约商户号", "子商户号"),
		kind: h.At("交易类型"), bank: h.At("付款银行"),
		transaction: h.At("微信订单号"), order: h.At("商户订单号"),
		refundID: h.At("微信退款单号"), refundNo: h.At("商户退款单号"),
		status: h.At("交易状态"), refundStatus: h.At("退款状态"), currency: h.At("货币种类"),
		goods: h.At("商品名称"), packet: h.At("商户数据包"), fee: h.At("手续费"), rate: h.At("费率"),
		hasRefunds: hasRefunds,
	}, nil
}

// The columns of amounts with the names of their totals, those of the old generation last.
const (
	figGross = iota
	figSettle
	figRefund
	figAsked
	figCouponRefund
	figFee
	figures
)

var figureNames = [figures]struct{ columns, totals []string }{
	figGross:        {[]string{"订单金额", "总金额"}, []string{"订单总金额", "总交易额"}},
	figSettle:       {[]string{"应结订单金额"}, []string{"应结订单总金额"}},
	figRefund:       {[]string{"退款金额"}, []string{"退款总金额", "总退款金额"}},
	figAsked:        {[]string{"申请退款金额"}, []string{"申请退款总金额"}},
	figCouponRefund: {[]string{"充值券退款金额", "代金券或立减优惠退款金额", "企业红包退款金额"}, []string{"充值券退款总金额", "总代金券或立减优惠退款金额", "总企业红包退款金额"}},
	figFee:          {[]string{"手续费"}, []string{"手续费总金额"}},
}

const tradeMark = "总交易单数"
