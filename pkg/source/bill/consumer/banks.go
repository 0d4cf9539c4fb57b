package consumer

import "daybreak/pkg/source/bill"

const bankAdvice = "ask the bank for MT940 (format mt940) or camt.053 (format camt053), whose balances prove that nothing is missing; or describe this list with csv: or xlsx: and its columns"

// banks are lists that Chinese banks export.
func banks() []bill.Stranger {
	list := func(name string, fits ...func(bill.Head) bool) bill.Stranger {
		return bill.Stranger{Title: "a list that " + name + " exports", Advice: bankAdvice, Fits: either(fits...)}
	}
	return []bill.Stranger{
		list("the Bank of China (中国银行)", title("中国银行交易流水明细"), header("记账日期", "记账时间", "币别", "金额", "余额", "交易名称")),
		list("the Bank of Communications (交通银行)", header("交易日期", "交易时间", "交易类型", "借贷", "交易金额", "余额", "对方账号")),
		list("China Merchants Bank (招商银行)", title("招商银行信用卡对账单", "招商银行交易记录"), header("记账日期", "货币", "交易金额", "联机余额", "交易摘要"),
			header("交易日", "记账日", "交易摘要", "人民币金额", "卡号末四位")),
		list("the Industrial and Commercial Bank of China (工商银行)", title("明细查询文件下载"), header("交易日期", "记账金额(收入)", "记账金额(支出)", "记账币种")),
		list("HSBC Hong Kong", header("Date", "Description", "Billing amount", "Billing currency", "Balance currency")),
		{
			Title:  "a list of a securities account (证券)",
			Advice: "it is no payment bill; describe it with csv: or xlsx: and its columns when it is to be reconciled all the same",
			Fits:   either(header("交收日期", "业务名称", "证券代码", "清算金额"), header("成交时间", "证券代码", "证券名称", "成交金额"), header("证券代码", "成交数量", "发生金额")),
		},
		list("a Chinese bank", generalBank),
	}
}

// generalBank asks for a date, a balance and an amount in the words of banks. Wallets have other words for them.
func generalBank(h bill.Head) bool {
	dates := either(header("交易日期"), header("记账日期"), header("入账日期"), header("交易日"))
	balances := either(header("余额"), header("账户余额"), header("联机余额"), header("本次余额"))
	amounts := either(header("交易金额"), header("借方发生额"), header("贷方发生额"), header("收入金额", "支出金额"), header("收入", "支出"),
		header("存入金额"), header("支取金额"), header("发生额"))
	return dates(h) && balances(h) && amounts(h)
}
