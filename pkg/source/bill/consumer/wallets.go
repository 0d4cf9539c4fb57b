package consumer

import "daybreak/pkg/source/bill"

const describe = "; to reconcile this very file, describe it with csv: or xlsx: and its columns, with skip: for the lines before the header"

// wallets are what apps export for a person.
func wallets() []bill.Stranger {
	return []bill.Stranger{
		{
			Title:  "a WeChat Pay export for a person (微信支付账单明细)",
			Advice: "merchants download the trade bill (交易账单) or the fund flow bill (资金账单) and read it as wechatpay-trade or wechatpay-fundflow" + describe,
			Fits:   either(title("微信支付账单明细", "微信支付账单流水明细"), header("交易时间", "交易类型", "交易对方", "收/支", "当前状态", "交易单号", "商户单号")),
		},
		{
			Title:  "an Alipay export for a person",
			Advice: "merchants download the trade bill (业务明细) or the account bill (账务明细) and read it as alipay-trade or alipay-signcustomer" + describe,
			Fits: either(title("支付宝交易记录明细查询", "支付宝（中国）网络技术有限公司  电子客户回单", "支付宝支付科技有限公司  电子客户回单"),
				header("交易时间", "交易分类", "交易对方", "对方账号", "商品说明", "收/支", "交易订单号"),
				header("交易时间", "交易对方", "收/付款方式", "交易状态", "交易订单号", "商家订单号"),
				header("交易号", "商家订单号", "交易创建时间", "付款时间", "交易来源地")),
		},
		{
			Title:  "a JD export for a person (京东)",
			Advice: "it writes refunds into the amounts of payments, such as 131.77(已退款89.84); merchants download the settlement bill of their JD account and describe it with csv:",
			Fits:   either(title("京东账号名"), header("商户名称", "交易说明", "收/付款方式", "收/支", "交易分类", "商家订单号")),
		},
		{
			Title:  "a Meituan export for a person (美团交易账单明细)",
			Advice: "it writes amounts with a currency sign; merchants download the bill of their Meituan account and describe it with csv:",
			Fits:   either(title("美团交易账单明细"), header("交易创建时间", "交易成功时间", "订单标题", "实付金额", "商家单号")),
		},
	}
}
